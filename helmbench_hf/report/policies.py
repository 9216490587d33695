"""The reference policies (fixed rules, scored like a model) as charts and tables show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from helmbench_hf.content.schema import Policy as AuthoredPolicy
from helmbench_hf.scoring.policies import Expected
from helmbench_hf.scoring.scores import Rate


@dataclass(frozen=True, slots=True)
class Policy:
    """A reference policy with its expected scores, all shares."""

    title: str
    message_blind: bool
    sensitivity: float | None
    """None where it sets no tag; the same for `false_alarms`."""
    false_alarms: float | None
    overall: float | None
    by_code: float | None


def policy_rows(policies: Mapping[str, AuthoredPolicy], scores: Mapping[str, Expected]) -> list[Policy]:
    """Each policy with its scores; both mappings are by slug."""

    def share(rate: Rate) -> float | None:
        return rate.hits / rate.n if rate.n else None

    found = ((policy, scores[slug]) for slug, policy in policies.items())
    return [
        Policy(policy.title, policy.message_blind, share(each.sensitivity), share(each.false_alarms), each.overall, each.by_code)
        for policy, each in found
    ]
