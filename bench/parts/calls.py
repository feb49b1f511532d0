"""Guarded writes, reads and replays on SQLite, beside the raw floor."""

from __future__ import annotations

from statistics import median

import floor
import product
from kept import Kept, Ratio, Size, p50, rate

SHARE = "share of the group-commit floor"


def measure(kept: Kept, size: Size) -> None:
    for _ in range(size.rounds):
        kept.measure("fsync", floor.fsync_cost)
        kept.measure("floor lone", lambda: floor.lone(size.alone))
        with product.shop() as shop:
            kept.measure("write lone sync", lambda s=shop: product.lone_sync(s, size.alone))
            kept.measure("write lone async", lambda s=shop: product.writes(s, 1, size.alone))
            kept.measure("replay", lambda s=shop: product.replays(s, size.alone))
            kept.measure("read", lambda s=shop: product.reads(s, size.alone))
        for callers in (64, 256):
            kept.measure(f"floor {callers}", lambda c=callers: floor.grouped(c, 3 * size.many))
            with product.shop() as shop:
                kept.measure(
                    f"write {callers}", lambda c=callers, s=shop: product.writes(s, c, size.many)
                )
        with product.shop() as shop:
            for name, chained in (("two writes 64", False), ("query, refund 64", True)):
                kept.measure(
                    name,
                    lambda s=shop, c=chained: product.pairs(s, 64, size.many // 4, chained=c),
                )


def ratios(kept: Kept) -> list[Ratio]:
    added_us = median(guarded.p50_ms * 1e3 - bare_us for guarded, bare_us in kept.rows["read"])
    return [
        Ratio(
            what=f"64 async callers, {SHARE}", value=kept.over("write 64", "floor 64", rate),
            bar=0.20, dream=0.35,
        ),
        Ratio(what=f"256 async callers, {SHARE}", value=kept.over("write 256", "floor 256", rate)),
        Ratio(
            what="lone sync p50 over the raw two commits",
            value=kept.over("write lone sync", "floor lone", p50), bar=2.5, dream=1.8,
            at_least=False,
        ),
        Ratio(
            what="lone async p50 over the raw two commits",
            value=kept.over("write lone async", "floor lone", p50), bar=3.5, dream=2.5,
            at_least=False,
        ),
        Ratio(
            what="guarded read, added time", value=added_us, bar=60, dream=20, at_least=False,
            unit="us",
        ),
        Ratio(
            what="64 sessions, cost of query-then-refund over two writes",
            value=kept.over("two writes 64", "query, refund 64", rate), bar=1.3, dream=1.0,
            at_least=False,
        ),
        Ratio(
            what=f"64 sessions, query then refund, {SHARE}",
            value=kept.over("query, refund 64", "floor 64", rate),
        ),
    ]  # fmt: skip
