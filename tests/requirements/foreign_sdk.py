"""A library of somebody else, which knows nothing of ascertain."""

import threading

from ascertain import Absent, Found

asked: list[str] = []
cancelled: list[str] = []
answers = threading.Event()
answers.set()


def get_order(phone: str = ""):
    asked.append(phone)
    answers.wait(5.0)
    return {"order": {"id": "F1", "phone": phone}}


class Client:
    @staticmethod
    def cancel(order_id: str):
        cancelled.append(order_id)
        if not answers.is_set():
            raise TimeoutError
        return {"id": f"C-{order_id}"}


def find(action):
    if not answers.is_set():
        raise TimeoutError
    order_id = action.arguments["order_id"]
    return Found(f"C-{order_id}") if order_id in cancelled else Absent
