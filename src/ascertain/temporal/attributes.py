"""Search attributes: state, tool and tenant of each action, to be filtered by in Temporal."""

from __future__ import annotations

import asyncio
import time

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from ascertain.errors import AscertainError
from ascertain.temporal.words import ATTRIBUTES

KNOWN_WITHIN_S, LOOK_S = 20.0, 0.2
REFUSED = {
    RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.INVALID_ARGUMENT,
    RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.RESOURCE_EXHAUSTED,
}  # fmt: skip


class AttributesMissing(AscertainError):
    """The namespace lacks our search attributes, and they could not be registered."""

    code = "search_attributes_missing"
    next_step = (
        "Create them: `temporal operator search-attribute create "
        + " ".join(f"--name {name} --type Keyword" for name in ATTRIBUTES)
        + "`; or do without: Temporal(search_attributes=False)."
    )


async def register(client: Client) -> None:
    """Make sure that the namespace knows them.

    :raises AttributesMissing: they are not there, and this client may not add them.
    :raises RPCError: the service did not answer.
    """
    try:
        request = ListSearchAttributesRequest(namespace=client.namespace)
        known = (await client.operator_service.list_search_attributes(request)).custom_attributes
        missing = [name for name in ATTRIBUTES if name not in known]
        if not missing:
            return
        keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                search_attributes=dict.fromkeys(missing, keyword), namespace=client.namespace
            )
        )
        await _known_everywhere(client)
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:
            return  # another worker was quicker
        if error.status not in REFUSED:
            raise
        raise AttributesMissing(
            f"The namespace {client.namespace} has not all of {', '.join(ATTRIBUTES)}, and they "
            f"could not be added ({error.status.name})."
        ) from error


async def _known_everywhere(client: Client) -> None:
    """The service takes a moment until it lets workflows have them."""
    query = " AND ".join(f"{name} = ''" for name in ATTRIBUTES)
    until = time.monotonic() + KNOWN_WITHIN_S
    while True:
        try:
            await client.count_workflows(query)
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT or time.monotonic() > until:
                raise
            await asyncio.sleep(LOOK_S)
        else:
            return
