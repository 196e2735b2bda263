"""A tap for the account on the Singer SDK: inboxes, and the users, tags and conversations of each."""

import sys

from requests_ratelimiter import LimiterAdapter
from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th
from singer_sdk.authenticators import BearerTokenAuthenticator
from singer_sdk.pagination import JSONPathPaginator

# One for all streams: the service limits the account, not a list.
PACE = LimiterAdapter(per_second=1)


class InboxStream(RESTStream):
    """One list of the service, a page of 100 rows a request, one request a second."""

    records_jsonpath = "$.results[*]"
    primary_keys = ("id",)

    @property
    def url_base(self):
        return self.config["api_url"]

    @property
    def authenticator(self):
        return BearerTokenAuthenticator(token=self.config["api_key"])

    @property
    def requests_session(self):
        session = super().requests_session
        session.mount("http://", PACE)
        return session

    def backoff_max_tries(self):
        return 8

    def get_new_paginator(self):
        return JSONPathPaginator("$.pagination.next_page")

    def get_url_params(self, context, next_page_token):
        return {"limit": 100, **({"next_page": next_page_token} if next_page_token else {})}


class Inboxes(InboxStream):
    name = "inboxes"
    path = "/inboxes"
    schema = th.PropertiesList(
        th.Property("id", th.StringType),
        th.Property("display_name", th.StringType),
        th.Property("email", th.StringType),
    ).to_dict()

    def get_child_context(self, record, context):
        return {"inbox_id": record["id"]}


class ListOfInbox(InboxStream):
    """A list of one inbox. The SDK adds the inbox's id to each row."""

    parent_stream_type = Inboxes
    primary_keys = ("inbox_id", "id")


class Users(ListOfInbox):
    name = "users"
    path = "/inboxes/{inbox_id}/users"
    schema = th.PropertiesList(
        th.Property("inbox_id", th.StringType),
        th.Property("id", th.StringType),
        th.Property("email", th.StringType),
    ).to_dict()


class Tags(ListOfInbox):
    name = "tags"
    path = "/inboxes/{inbox_id}/tags"
    schema = th.PropertiesList(
        th.Property("inbox_id", th.StringType),
        th.Property("id", th.StringType),
        th.Property("name", th.StringType),
    ).to_dict()


class Conversations(ListOfInbox):
    name = "conversations"
    path = "/inboxes/{inbox_id}/conversations"
    schema = th.PropertiesList(
        th.Property("inbox_id", th.StringType),
        th.Property("id", th.StringType),
        th.Property("status", th.StringType),
        th.Property("assignee_id", th.StringType),
        th.Property("tag_ids", th.StringType),
    ).to_dict()

    def post_process(self, row, context=None):
        # The service writes "unassigned" in several shapes; a column has one.
        assignee = row.pop("assignee", None)
        row["assignee_id"] = assignee.get("assignee_id") if isinstance(assignee, dict) else None
        row["tag_ids"] = ",".join(row["tag_ids"])
        return row


class TapInbox(Tap):
    name = "tap-inbox"
    config_jsonschema = th.PropertiesList(
        th.Property("api_url", th.StringType, required=True),
        th.Property("api_key", th.StringType, required=True, secret=True),
    ).to_dict()

    def discover_streams(self):
        return [stream(tap=self) for stream in (Inboxes, Users, Tags, Conversations)]


if __name__ == "__main__":
    sys.exit(TapInbox.cli())
