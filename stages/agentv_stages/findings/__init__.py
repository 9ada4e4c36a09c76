"""What cost a session time, money or quality: findings with the calls that prove them. docs/metrics.md defines each."""

from agentv_stages.findings.finding import Cite, Finding
from agentv_stages.findings.findings import Findings

__all__ = ["Cite", "Finding", "Findings"]
