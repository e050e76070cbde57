# SPDX-License-Identifier: Apache-2.0
"""
Features of rows in pairs: opens and runs each with every other one. Either both models hold, and the rows equal those of the loader without each feature
except for the columns that it changes, or the loader fails to open. docs/pairs.md lists these pairs; SLUICE_WRITE_PAIRS=1 writes it.

SLUICE_PAIRS_ONLY="device cuda" runs the pairs of that feature only, which is enough on a machine with a real driver.
"""
import itertools
import os
import pathlib
import random
import re
import textwrap

import pytest
from pair_features import FEATURES, Plan, sets
from pair_compare import check_unchanged
from pair_models import check_image, check_view
from pair_rows import DRIVER, content_of, rows_of, turned_jpeg, png, used, write, write_tokens

import sluice
from sluice import _names, columns as C, transforms as T

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pairs.md"
VIEW = next(feature for feature in FEATURES if feature.name == "views")
CUDA = next(feature for feature in FEATURES if feature.name == "device cuda")
ONLY = os.environ.get("SLUICE_PAIRS_ONLY")
assert ONLY is None or ONLY in {feature.name for feature in FEATURES}, f"SLUICE_PAIRS_ONLY={ONLY!r} is not a feature's name"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = {}

    def of(encode, *options):
        if (encode, *options) not in made:
            path = tmp_path_factory.mktemp("pairs") / "packed"
            made[encode, *options] = write_tokens(path) if encode == "tokens" else write(path, turned_jpeg if encode == "jpeg" else png, *options)
        return made[encode, *options]

    return of


@pytest.fixture(scope="module")
def views(folder):
    """Returns the view of each sample in a loader with no other features."""
    made = {}

    def of(plan):
        key = (plan.encode, plan.options.get("exif"), plan.options.get("exact"))
        if key not in made:
            alone = Plan()
            VIEW.add(alone)
            alone.encode = plan.encode
            alone.options.update({name: plan.options[name] for name in ("exif", "exact") if name in plan.options})
            with alone.open(folder) as loader:
                made[key] = {row.index: row.of("view") for row in used(rows_of(loader, alone))}
        return made[key]

    return of


EPOCHS = {}


def epoch_of(features, folder, instead=None):
    """Returns the plan and its batches, or the error if the loader failed to open."""
    key = (*(feature.name for feature in features), instead)
    if key not in EPOCHS:
        plan = Plan()
        for feature in features:
            feature.add(plan)
        if instead is not None:
            instead(plan)
        try:
            with plan.open(folder) as loader:
                EPOCHS[key] = plan, rows_of(loader, plan)
        except REFUSED as error:
            EPOCHS[key] = str(error)
    return EPOCHS[key]


REFUSED = sluice.InvalidError, sluice.UnsupportedError, ValueError, TypeError


def run(features, folder, views):
    """Returns None, or the reason why the loader failed to open. Any other error propagates."""
    made = epoch_of(features, folder)
    if isinstance(made, str):
        return made
    plan, batches = made
    assert used(batches)
    if "image" not in batches[0][0].values:  # rows of windows are not samples
        features = [feature for feature in features if feature.name in ("window", "packed")]
    for feature in features:
        (feature.check or (lambda made: check_view(made, views(plan))))(batches)
    if "image" in batches[0][0].values:
        check_image(batches)
        for feature in features:
            beside(feature, features, folder, batches)
    return None


def beside(feature, features, folder, batches):
    """Compares the batches with those of the same loader without the feature."""
    if feature.changes is None or ("boxes" in feature.changes and batches[0][0].plan.boxes.get("at_least_one")):
        return
    without = epoch_of([other for other in features if other is not feature], folder, feature.instead)
    assert not isinstance(without, str), without
    check_unchanged(batches, without[1], feature.changes)
    if feature.compare is not None:
        feature.compare(batches, without[1])


RESULTS = {}


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_alone(folder, views, feature):
    if feature is CUDA and DRIVER is None:
        pytest.skip("SLUICE_CUDA_DRIVER names no driver")
    if ONLY not in (None, feature.name):
        pytest.skip("SLUICE_PAIRS_ONLY names another feature")
    assert run([feature], folder, views) is None


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_pairs(folder, views, feature):
    """Pairs a feature with every later one in the list."""
    failed = []
    for other in FEATURES[FEATURES.index(feature) + 1 :]:
        if (CUDA in (feature, other) and DRIVER is None) or (feature.slot and feature.slot == other.slot):
            continue
        if ONLY not in (None, feature.name, other.name):
            continue
        try:
            RESULTS[feature.name, other.name] = run([feature, other], folder, views)
        except (AssertionError, sluice.Error) as error:
            failed.append(f"{feature.name} + {other.name}: {type(error).__name__} {str(error)[:300]}")
    assert not failed, "\n".join(failed)


# ---- values of one option, which a loader has only once ----

SLOTS = {}
for feature in FEATURES:
    if feature.slot is not None:
        SLOTS.setdefault(feature.slot, []).append(feature)
GOES_ON = {}


@pytest.mark.parametrize("slot", SLOTS)
def test_one_after_another(folder, slot):
    """A loader with another value rejects a saved state, or resumes from it with its own rows."""
    refused = set()
    for before, after in itertools.permutations(SLOTS[slot], 2):
        plans = Plan(), Plan()
        for plan, feature in zip(plans, (before, after)):
            sets(bad=True, options={"on_bad_sample": "mask"}, batch=6)(plan)
            feature.add(plan)
        with plans[0].open(folder) as loader:
            next(iter(loader))
            state = loader.state_dict()
        with plans[1].open(folder) as loader, plans[1].open(folder) as whole:
            try:
                loader.load_state_dict(state)
            except sluice.Error as error:
                assert f"different {slot}" in str(error)
                refused.add(True)
                continue
            assert content_of(rows_of(loader, plans[1])) == content_of(rows_of(whole, plans[1]))[1:]
            refused.add(False)
    assert len(refused) == 1
    GOES_ON[slot] = not refused.pop()


# ---- three at a time ----

KNOWN = [feature for feature in FEATURES if feature is not CUDA or DRIVER is not None]
TRIPLES, REFUSED_TRIPLES = 80, 40
# Rows that the device converts and mixes, and features that meet in a mosaic; the other triples are drawn.
ALWAYS = [(mixed, "channels first", "device cuda") for mixed in ("mixup", "cutmix", "soft labels", "timm_mix", "mixup_partner", "copy_paste")]
ALWAYS += [("mosaic", layered, follower) for layered in ("mixup_partner", "copy_paste") for follower in ("points", "instances", "geometry")]


def triples(count, refused):
    """Draws triples whose pairs all work, or, if `refused`, triples with a pair that fails to open."""
    chosen, generator = [], random.Random(1)
    for _ in range(100000):
        three = [KNOWN[i] for i in sorted(generator.sample(range(len(KNOWN)), 3))]
        slots = [feature.slot for feature in three if feature.slot is not None]
        pairs = list(itertools.combinations([feature.name for feature in three], 2))
        if len(slots) == len(set(slots)) and all(pair in RESULTS for pair in pairs) and any(RESULTS[pair] for pair in pairs) == refused:
            chosen.append(three)
            if len(chosen) == count:
                return chosen
    pytest.skip("the pairs were not run")


def variants(three, folder):
    """Checks that more workers and a restart make the same rows, also in the next epoch."""
    plan, batches = epoch_of(three, folder)
    wanted = content_of(batches)
    with plan.open(folder, num_workers=3) as loader:
        assert content_of(rows_of(loader, plan)) == wanted
        later = content_of(rows_of(loader, plan))
    with plan.open(folder) as loader:
        iterator = iter(loader)
        next(iterator), next(iterator)
        state = loader.state_dict()
    with plan.open(folder) as loader:
        loader.load_state_dict(state)
        assert content_of(rows_of(loader, plan)) == wanted[2:]
        assert content_of(rows_of(loader, plan)) == later


def test_triples(folder, views):
    """If all pairs work, the three work, and the number of workers and a restart do not change the rows."""
    failed = []
    always = [[feature for feature in KNOWN if feature.name in names] for names in ALWAYS]
    for three in [*(three for three in always if len(three) == 3), *triples(TRIPLES, False)]:
        try:
            refused = run(three, folder, views)
            assert refused is None, refused
            variants(three, folder)
        except (AssertionError, sluice.Error) as error:
            failed.append(f"{' + '.join(feature.name for feature in three)}: {type(error).__name__} {str(error)[:300]}")
    assert not failed, "\n".join(failed)


def test_triples_of_a_refused_pair(folder):
    """A third feature does not make a refused pair open."""
    taken = [three for three in triples(REFUSED_TRIPLES, True) if not isinstance(epoch_of(three, folder), str)]
    assert not taken, "\n".join(" + ".join(feature.name for feature in three) for three in taken)


# ---- the page ----


def reason(text):
    """Returns the error without the names and values of this test."""
    said = re.sub(r"^(columns|augment|api|loader|plan|staging): ", "", text).split("\n")[0]
    return re.sub(r"\([^()]*=[^()]*\)", "", re.sub(r'^column "[^"]*": ', "", said))


def not_with(name):
    """Returns the features that fail together with this one; features with values of the same option never meet."""
    return [b if a == name else a for a, b in itertools.combinations([f.name for f in FEATURES], 2) if name in (a, b) and RESULTS.get((a, b))]


def cell(name):
    refused = not_with(name)
    others = [f.name for f in FEATURES if f.name not in (name, *refused)]
    said = ", ".join(refused)
    text = (said if len(said) < 190 else "all but " + ", ".join(others)) or "-"
    lines = textwrap.wrap(re.sub("(?<!,) ", "\0", text), 95, break_on_hyphens=False)  # breaks behind commas only
    return " |\n| | ".join(lines).replace("\0", " ")  # a long list continues in a row without a name


def page():
    head = """
        # Features of rows in pairs

        Any two features below work together, except the pairs in the table: with those, opening the loader fails.

        `python/tests/test_pairs.py` opens and runs all pairs and a sample of triples. It compares the rows with a model of each
        feature, and with the rows of the same loader without the feature. It also writes this page (`SLUICE_WRITE_PAIRS=1`). A new
        kind of column, step of several samples, order or policy fails that test until it is in the test's list
        (`python/tests/pair_features.py`).

        | feature | does not work with |
        |---|---|
        """
    text = textwrap.dedent(head).lstrip()
    reasons = {}
    for feature in FEATURES:
        text += f"| {feature.name} | {cell(feature.name)} |\n"
    text += "\n## Values of one option\n\nEach option has one value per loader. The last column says what happens to a saved state in a loader with another value:\n\n"
    text += "| option | values | state from another value |\n|---|---|---|\n"
    for slot, features in SLOTS.items():
        text += f"| {slot} | {', '.join(feature.name for feature in features)} | {'resumes' if GOES_ON[slot] else 'error'} |\n"
    for pair, said in RESULTS.items():
        if said is not None:
            reasons.setdefault(reason(said), []).append(" + ".join(pair))
    text += "\n## Error messages\n\n"
    for said, pairs in sorted(reasons.items()):
        text += f"- \"{said}\": {', '.join(sorted(pairs)[:3])}{', ...' if len(pairs) > 3 else ''}\n"
    return text


def test_the_page_is_what_was_seen():
    """The page lists the failing pairs; the texts of the errors may change."""
    if len(GOES_ON) < len(SLOTS) or len(RESULTS) < sum(not a.slot or a.slot != b.slot for a, b in itertools.combinations(FEATURES, 2)):
        pytest.skip("not all pairs were run")
    if not PAGE.exists():
        pytest.skip("the page is not here")
    if os.environ.get("SLUICE_WRITE_PAIRS"):
        PAGE.write_text(page())
    table, seen = (text.split("## Error messages")[0] for text in (PAGE.read_text(), page()))
    assert table == seen, "docs/pairs.md is another one: SLUICE_WRITE_PAIRS=1 writes it"


# ---- completeness of the list ----

COVERED = {name for feature in FEATURES for name in feature.covers}


def test_every_kind_of_column_is_there():
    kinds = {getattr(getattr(C, name), "_kind", "") for name in C.__all__} - {""}
    assert kinds <= COVERED, kinds - COVERED


def test_every_step_of_several_members_is_there():
    """Steps in the table that affect more than one image: several samples or layers, a batch's rows, boxes that are examined, shared draws."""
    if not (ROOT / "CMakeLists.txt").exists():
        pytest.skip("the sources are not here")
    rows = [row for path in (ROOT / "src" / "augment").rglob("steps_*.c") for row in re.findall(r"^SL_STEP\((\w+)\) = \{(.*?)\};$", path.read_text(), re.M | re.S)]
    names = {name for name, row in rows if re.search(r"\.(members|layers|mix|looks|shares) = ", row)}
    assert len(names) >= 8 and names <= COVERED, names - COVERED


# Loader options that change no row, and those whose default all other features are tested with.
NO_ROW = {
    "batch_size", "num_workers", "dtype", "layout", "io", "page_cache", "block_samples", "window_blocks", "window_bytes", "quarantine", "whole_samples",
    "any_numa_node", "prefetch_factor", "device_slots", "seed", "io_depth", "io_threads", "read_buffer_bytes", "max_sample_bytes", "max_pixels",
    "memory_bytes", "resident_bytes", "stall_warn", "stall_fail", "rank", "world_size", "level", "model_parallel", "ignore_index", "episode_samples", "hold",
}  # fmt: skip
# Tars and tables in their own order: test_tar_stream. Annotations the other way up: test_meaning. On one rank the same as repeat: test_batches.
ELSEWHERE = {"shuffle=shards", "exif=ignore", "last_batch=wrap"}
DEFAULTS = ELSEWHERE | {"shuffle=full", "last_batch=short", "last_batch=drop", "on_bad_sample=fail", "exif=auto"}


def test_every_order_and_policy_is_there():
    for keyword, option in _names.keywords("loader").items():
        words = {f"{keyword}={word}" for word in option.choices} if option.words else {keyword}
        if keyword not in NO_ROW:
            assert words <= COVERED | DEFAULTS, words - COVERED - DEFAULTS
