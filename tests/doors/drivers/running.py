"""How async drivers run, and are cancelled in the middle."""

import asyncio

from tests.doors.shop import Killed


def run(making, shop, *, cancel=False):
    """Run a coroutine to its end; True where it was killed or cancelled."""
    return asyncio.run(_run(making, shop, cancel))


async def _run(making, shop, cancel):
    task = asyncio.ensure_future(making)
    loop = asyncio.get_running_loop()
    shop.kill = lambda: loop.call_soon_threadsafe(task.cancel)
    shop.over.clear()
    if cancel:
        assert await asyncio.to_thread(shop.began.wait, 10), "the guest was never called"
        task.cancel()
    try:
        await task
    except (asyncio.CancelledError, Killed):
        return True
    finally:
        shop.over.set()
        late = set(shop.app._calls.bodies.tasks)
        if late:
            await asyncio.wait(late, timeout=10)
    return False
