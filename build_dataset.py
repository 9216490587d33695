"""Build the HELMbench dataset: `python build_dataset.py --out DIR`; publish it: `... --push REPO --tag vX.Y.Z`."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import tempfile
from pathlib import Path

from helmbench_hf.content.lint import check
from helmbench_hf.content.load import Benchmark, ContentError, default_root, load_benchmark
from helmbench_hf.dataset.build import Built, SourceError, build, build_inputs, clean_commit
from helmbench_hf.dataset.holdout import HoldoutError, check_holdout
from helmbench_hf.dataset.load import DatasetError
from helmbench_hf.dataset.publish import PublishError, Release, check_tag, prepare, publish

REFUSALS = (ContentError, FileExistsError, DatasetError, HoldoutError, PublishError, SourceError)


def main() -> int:
    """Check the content, write the dataset, print what was written, publish it if asked; 1 where something stands against it."""
    options = _options()
    try:
        source = clean_commit(build_inputs(options.content)) if options.push else ""
        benchmark = _benchmark(options)
        if options.push:
            check_tag(options.tag, benchmark.file.version)
            # a folder of its own: what is published is this build and no file that lay there before
            with tempfile.TemporaryDirectory(prefix="helmbench-release-") as name:
                built = build(benchmark, folder := Path(name) / "dataset", gated=options.gated)
                _show(built)
                release = Release(folder, options.push, options.tag, source, options.allow_fewer, options.push_private)
                _push(release, options.dry_run)
        else:
            _show(build(benchmark, options.out, gated=options.gated))
            print(f"written to {options.out}")
    except REFUSALS as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist/helmbench/v1"), help="folder to write (default: %(default)s)")
    parser.add_argument("--content", type=Path, default=default_root(), help="authored files (default: those of this checkout)")
    parser.add_argument(
        "--today", metavar="DAY", type=dt.date.fromisoformat, default=dt.date.today(),
        help="the day (2026-11-22) to compare dates with (default: today)",
    )  # fmt: skip
    parser.add_argument("--private", action="store_true", help="the content is a holdout from elsewhere; docs/holdout.md")
    parser.add_argument("--gated", action="store_true", help="write an access form's texts into the card; docs/publishing.md")
    push = parser.add_argument_group("publishing", "The token comes from HF_TOKEN or `hf auth login`; docs/publishing.md")
    push.add_argument("--push", metavar="REPO", help="publish in one commit to this dataset repository, e.g. helmbench/v1")
    push.add_argument("--tag", help="tag of the release, v and the version in benchmark.yaml; --push needs it")
    push.add_argument("--dry-run", action="store_true", help="show what --push would change, and change nothing")
    push.add_argument("--allow-fewer", metavar="REASON", help="publish although rows get fewer; the commit message says why")
    push.add_argument("--push-private", action="store_true", help="let private content go to a private repository")
    options = parser.parse_args()
    if bool(options.push) != bool(options.tag):
        parser.error("--push and --tag go together")
    if not options.push and (options.dry_run or options.allow_fewer or options.push_private):
        parser.error("--dry-run, --allow-fewer and --push-private belong to --push")
    return options


def _benchmark(options: argparse.Namespace) -> Benchmark:
    """The authored files, without faults, and private if and only if that was said."""
    benchmark = load_benchmark(options.content)
    if problems := check(benchmark, options.today):
        raise ContentError(problems)
    check_holdout(benchmark, options.private)
    return benchmark


def _show(built: Built) -> None:
    for config, split, table in built.manifest.tables:
        print(f"{config:14} {split:8} {table.rows:6} rows  {table.sha256}")


def _push(release: Release, dry_run: bool) -> None:
    """Read the build back, compare it with what is published, and publish it."""
    from huggingface_hub import HfApi

    api = HfApi()
    difference = prepare(api, release)
    print(f"\nagainst {release.repo} at {difference.head}:")
    for line in difference.lines():
        print(line)
    if dry_run:
        print("nothing was published (--dry-run)")
        return
    sha = publish(api, release, difference)
    print(f"published as {release.tag}: {api.endpoint}/datasets/{release.repo}/tree/{sha}")


if __name__ == "__main__":
    sys.exit(main())
