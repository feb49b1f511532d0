"""The storm is only worth something if every unknown action is really found out about, once."""

from bench import storm


def test_every_action_is_taken_up_by_one_of_the_workers():
    found = storm.storm(2, 80)
    assert (found.processes, found.actions) == (2, 80)
    assert sum(found.shares) == 80
    assert found.per_s > 0
    assert found.cpu_us > 0


def test_a_rate_holds_the_storm():
    """60 look-ups at 40 a second: most of a second has to pass between the first and the last."""
    found = storm.storm(1, 60, rate="40/s")
    assert found.shares == (60,)
    assert found.took_s > 0.4
