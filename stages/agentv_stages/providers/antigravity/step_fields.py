"""The field numbers of Antigravity's conversations that are used.

Source: two conversations of agy 1.0.x, decoded; names from the descriptors in agy 1.0.16 and 1.1.16.
"""

from agentv_stages.providers.antigravity.protobuf import Fields

TIME: Fields = {1: ("seconds", "int"), 2: ("nanos", "int")}
CALL: Fields = {1: ("id", "text"), 2: ("name", "text"), 3: ("arguments", "text")}
USAGE: Fields = {
    2: ("input", "int"),
    3: ("output", "int"),
    4: ("cache_write", "int"),
    5: ("cache_read", "int"),
    9: ("thinking", "int"),
    11: ("response_id", "text"),
}
METADATA: Fields = {
    1: ("created", TIME),
    4: ("call", CALL),
    8: ("completed", TIME),
    9: ("usage", USAGE),
}
STEP: Fields = {
    1: ("type", "int"),
    4: ("status", "int"),
    5: ("metadata", METADATA),
    10: ("code", {2: ("output", "text")}),
    13: ("search", {3: ("output", "text")}),
    14: ("view", {4: ("output", "text"), 9: ("full", "text")}),
    15: ("listing", {1: ("output", "text")}),
    19: ("user", {2: ("text", "text"), 3: ("items", {1: ("text", "text")})}),
    20: (
        "planner",
        {
            1: ("response", "text"),
            3: ("thinking", "text"),
            7: ("calls", (CALL,)),
            12: ("stop", "int"),
        },
    ),
    28: ("command", {4: ("output", "text"), 6: ("exit_code", "int"), 21: ("combined", {1: ("output", "text")})}),
    47: ("mcp", {3: ("output", "text")}),
    140: ("generic", {2: ("result", {1: ("output", "text")})}),
}
GENERATION: Fields = {1: ("call", {19: ("model", "text"), 21: ("display", "text")})}
ERROR: Fields = {9: ("text", "text"), 1: ("message", "text"), 2: ("details", "text")}
