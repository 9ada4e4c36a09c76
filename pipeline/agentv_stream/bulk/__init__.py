"""Many finished sessions: on all cores or a cluster, to transcripts, summaries and a Parquet data set.

import_sessions(["logs/"], parquet="dataset/")          # everything, resumable
for result in summarize_many(paths): ...                # results in order, nothing written
summarize_groups(["logs/"], by="day").summary           # merged figures
"""

from agentv_stream.bulk.outcome import Failure, Outcome
from agentv_stream.bulk.run import import_sessions, summarize_groups, summarize_many

__all__ = ["Failure", "Outcome", "import_sessions", "summarize_groups", "summarize_many"]
