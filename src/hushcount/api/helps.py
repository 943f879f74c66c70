"""What each problem means, and what to do about it: the pages under `/problems`."""

from __future__ import annotations

HELPS: dict[str, tuple[str, str]] = {
    "invalid-parameter": (
        "Something in the request has a value that cannot be used. Nothing was read and nothing was charged.",
        "The member `pointer` is the place in the body, `parameter` the one in the query or a header; change it there.",
    ),
    "unknown-column": (
        "The data set has no column of that name.",
        "GET /v1/datasets/{name} lists its columns.",
    ),
    "unknown-option": (
        (
            "The request says something that this service does not know. It is refused rather than passed over, since "
            "what you meant by it would silently not happen."
        ),
        "Leave it out, or write it as /openapi.json has it.",
    ),
    "unsafe-filter": (
        "Filters take columns, literals, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE and IS NULL, and nothing else.",
        "Write the filter with these alone.",
    ),
    "not-signed-in": (
        "Nobody knows who is asking, so nothing can be shown.",
        "Send `Authorization: Bearer hush_...` with a token that is not over and was not revoked.",
    ),
    "not-permitted": (
        "You are known, and your role for this data set, or your token, does not allow it.",
        "Ask an owner of the data set for another role.",
    ),
    "budget-exhausted": (
        "What may be learnt about people is limited, and this question does not fit into what is left. It was not run.",
        "`would_fit` has cheaper ways to ask, `already_answered` what is free; or ask for more: POST /v1/requests.",
    ),
    "over-max-cost": (
        "The question may cost more than the most that you allowed for it, so it was not run.",
        "Raise `max_cost`, or ask for less accuracy.",
    ),
    "frozen": (
        "An owner has stopped all questions about this data. Releases that were made before can still be read.",
        "Ask the owner.",
    ),
    "not-found": (
        "There is nothing of that name, or it was not granted to you: the two look the same.",
        "Look at the name; or ask an owner for a role.",
    ),
    "no-such-format": (
        "It cannot be had in the format that was asked for.",
        "Ask for .json, .csv, .parquet, .arrow, .svg or .html; some need packages that the operator installs.",
    ),
    "reservation-closed": (
        "The reservation was settled, given back or is over, so it cannot be changed any more.",
        "Make a new one with a new key.",
    ),
    "data-changed": (
        "It was changed by somebody else since you read it. Nothing was written.",
        "Read it again, then repeat the change.",
    ),
    "cancelled": (
        "The question was cancelled before data was read for it. Nothing was charged.",
        "Ask it again with a new key.",
    ),
    "body-too-large": (
        "A request may have one megabyte.",
        "Send a shorter list or a shorter filter.",
    ),
    "not-json": (
        "Bodies are JSON: one object, without members that stand twice, and not too deep.",
        "Send `Content-Type: application/json` and a body that is.",
    ),
    "key-reused": (
        (
            "The Idempotency-Key came before with another request. The same key always means the same request, so that "
            "it is never paid twice."
        ),
        "Use a new key for a new question.",
    ),
    "too-many-requests": (
        "Too many requests came in a short time. This has nothing to do with budgets.",
        "Wait as long as Retry-After says.",
    ),
    "internal": (
        "Something failed inside. Nothing of it is shown, since it might quote data.",
        "Tell the operator the request's id. The same request with the same key is never paid twice.",
    ),
    "store-failed": (
        "The place where the data is kept could not answer.",
        "Try again later with the same key; the member `charged` says whether anything was charged.",
    ),
    "store-incomplete": (
        "The place where the data is kept gave a part of the answer only. A part is no answer, so there is none.",
        "Ask again later with the same key: it is never paid twice. If it lasts, tell the operator the request's id.",
    ),
    "ledger-unavailable": (
        "The ledger cannot be reached, and nothing is answered without it.",
        "Try again with the same key: it is never paid twice.",
    ),
    "busy": (
        "As many questions as the store can take are under way, or the server is about to stop.",
        "Try again after Retry-After with the same key.",
    ),
    "store-timeout": (
        "The question took longer than one may.",
        "Ask for less, or ask the operator for more time; the member `charged` says whether anything was charged.",
    ),
}
