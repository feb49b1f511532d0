"""A library of somebody else, which knows nothing of ascertain."""

from ascertain import Absent

cancelled: list[str] = []


def get_order(phone: str = ""):
    return {"order": {"id": "F1", "phone": phone}}


class Client:
    @staticmethod
    def cancel(order_id: str):
        cancelled.append(order_id)
        return {"id": f"C-{order_id}"}


def find(action):
    return Absent
