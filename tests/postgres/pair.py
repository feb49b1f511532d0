"""A primary and a standby whose WAL stream can be cut, so that a promotion loses commits."""

import psycopg

from ascertain.store.postgres_place import place_of
from tests.postgres.server import OWNER, Server


class Pair:
    """Two real servers; the second follows the first one asynchronously."""

    def __init__(self):
        self.primary = Server().make().start()
        self.standby = self.primary.standby()
        self.cut_off = False

    def url(self, schema="shop"):
        """Both hosts; libpq takes the one that takes writes."""
        both = (self.primary, self.standby)
        hosts = ",".join(str(one.folder) for one in both)
        ports = ",".join(str(one.port) for one in both)
        return f"postgresql://{OWNER}@/postgres?host={hosts}&port={ports}&schema={schema}"

    def catch_up(self):
        """Wait until the standby has everything that is committed by now.

        What a commit has forced to the disk: where the next record goes may be behind the header of
        a page that nobody sends before there is a record on it.
        """
        self.ask(self.primary, "SELECT pg_logical_emit_message(true, 'tests', 'up to here')")
        ((now,),) = self.ask(self.primary, "SELECT pg_current_wal_flush_lsn()::text")
        self._wait(f"SELECT pg_last_wal_replay_lsn() >= '{now}'::pg_lsn")

    def cut(self):
        """From now on nothing reaches the standby; nobody who commits is told."""
        self.catch_up()
        self.ask(self.standby, "ALTER SYSTEM SET primary_conninfo = ''")
        self.ask(self.standby, "SELECT pg_reload_conf()")
        self._wait("SELECT NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)")
        self.cut_off = True

    def fail_over(self):
        """The primary is gone for good, as in a crash; the standby takes its place."""
        if not self.cut_off:
            self.catch_up()
        self.primary.stop(how=3)  # SIGQUIT: "immediate"
        self.standby.promote()

    def timeline(self, server):
        """As the name of its current journal file has it."""
        ((name,),) = self.ask(server, "SELECT pg_walfile_name(pg_current_wal_insert_lsn())")
        return int(name[:8], 16)

    def ask(self, server, query, *values):
        """What a server answers by itself, in the ledger's schema."""
        schema = place_of(self.url()).schema
        with psycopg.connect(server.url(), autocommit=True) as db:
            db.execute("SELECT set_config('search_path', %s, false)", [schema])
            cursor = db.execute(query, values or None)
            return cursor.fetchall() if cursor.description else []

    def _wait(self, query):
        with psycopg.connect(self.standby.url(), autocommit=True) as db:
            db.execute(
                "DO $$ BEGIN FOR i IN 1..1000 LOOP"
                f" IF ({query}) THEN RETURN; END IF; PERFORM pg_sleep(0.01);"
                " PERFORM pg_stat_clear_snapshot(); END LOOP;"
                " RAISE EXCEPTION 'it does not come about'; END $$"
            )

    def remove(self):
        """Stop both and remove their data."""
        for one in (self.primary, self.standby):
            one.remove()
