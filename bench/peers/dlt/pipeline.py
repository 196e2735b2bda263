"""The account as a dlt pipeline: the REST API source into SQLite. Runs once, as a cron job would run it."""

import os

import dlt
from dlt.sources.helpers.requests import Client
from dlt.sources.rest_api import rest_api_source
from requests_ratelimiter import LimiterAdapter


def session():
    """dlt's own session, which retries 429 and 5xx, at a pace of one request a second."""
    client = Client(raise_for_status=False, request_max_attempts=8, request_backoff_factor=1)
    client.session.mount("http://", LimiterAdapter(per_second=1))
    return client.session


def flat(row):
    """The service writes "unassigned" in several shapes; a column has one."""
    assignee = row.pop("assignee", None)
    row["assignee_id"] = assignee.get("assignee_id") if isinstance(assignee, dict) else None
    row["tag_ids"] = ",".join(row["tag_ids"])
    return row


def of_inbox(name, **more):
    """A list of every inbox: its rows carry the inbox's id."""
    return {
        "name": name,
        "endpoint": {"path": "inboxes/{resources.inboxes.id}/" + name},
        "include_from_parent": ["id"],
        "primary_key": ["_inboxes_id", "id"],
        **more,
    }


source = rest_api_source(
    {
        "client": {
            "base_url": os.environ["INBOX_API_URL"] + "/",
            "auth": {"type": "bearer", "token": os.environ["INBOX_API_KEY"]},
            "paginator": {
                "type": "cursor",
                "cursor_path": "pagination.next_page",
                "cursor_param": "next_page",
            },
            "session": session(),
        },
        "resource_defaults": {
            # The documented choice for a source that cannot say what changed: a full load.
            "write_disposition": os.environ.get("WRITE_DISPOSITION", "replace"),
            "endpoint": {"params": {"limit": 100}, "data_selector": "results"},
        },
        "resources": [
            {"name": "inboxes", "primary_key": "id", "endpoint": {"path": "inboxes"}},
            of_inbox("users"),
            of_inbox("tags"),
            of_inbox("conversations", processing_steps=[{"map": flat}]),
        ],
    }
)

pipeline = dlt.pipeline(
    pipeline_name="inbox",
    pipelines_dir="pipelines",
    destination=dlt.destinations.sqlalchemy("sqlite:///copy.db"),
    dataset_name="main",
)
pipeline.run(source)
