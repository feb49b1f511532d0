"""What the proxy costs a read over stdio: at most 1.5 ms beside the bare server, p50."""

from statistics import median

from bench import mcp_reads

BAR_MS = 1.5


async def test_a_read_costs_no_more_than_the_bar(tmp_path, capsys):
    rounds = await mcp_reads.in_turn(tmp_path, rounds=3, many=300)
    added = sorted(1e3 * (median(one.proxied) - median(one.bare)) for one in rounds)
    with capsys.disabled():
        print(f"\nadded to a read, p50: {', '.join(f'{ms:.2f}' for ms in added)} ms")
    assert added[0] <= BAR_MS
