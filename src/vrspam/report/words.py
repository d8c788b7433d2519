"""The sentences of pages and of the terminal: each is worded here, once.

Models, evaluations and reports are those of `vrspam.tool`; this module only reads their attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam import __version__
from vrspam._utils.messages import USUAL_PENALTY, Message, Parameter
from vrspam._utils.texts import auc_text, interval_text, isolated, shorten, signed
from vrspam.measures.outcome import Outcome

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison
    from vrspam.measures.measure import Evaluation
    from vrspam.metrics import AUCInterval, Calibration, ComparedPair, DeLongTest, Estimate
    from vrspam.metrics.thresholds import Threshold
    from vrspam.model_selection.learning_curve import LearningCurve
    from vrspam.tables.schema import Label
    from vrspam.tool.learning import MoreRows
    from vrspam.tool.model import Model

AUC_IS = "AUC is the probability that a positive row scores above a negative one; 0.5 is guessing, 1 is perfect."
ZERO = "A score of 0 is half-way between the average scores of the two classes."
LIFT = "Lift: how many times more positives the highest scores hold than rows drawn at random"
SENSITIVITY = "Sensitivity (share of positives found) at each specificity (share of negatives not called)"
CALLED = "A row is called positive if its score reaches the threshold"
SPREAD = "Spread: how much the column moves scores (standard deviation of what it adds)."
ONE_DEVIATION = "One deviation: what the score gains when the feature rises by one standard deviation."
SHARE = "Share: how much of the distance between the average scores of the two classes comes from it."
SHARE_OF_PAIRS = "Share: how much of the mean distance of the scores in a pair comes from it."
ELSEWHERE = (
    "The scores were made elsewhere: these numbers hold for new rows if no model scored rows that it was trained on."
)
CELLS = (
    "Orange cells raise the score and blue ones lower it, by up to {:.2f}, on top of the curves of both columns; grey: "
    "fewer than three rows. Bins of numbers hold about equally many rows."
)
GUESSING = "0.5 is guessing"
AS_MANY = {"now": 1, "twice as many": 2, "four times as many": 4}  # as multiples of the rows at hand
UNLIKE = "differs from the other rows by more than chance"
NOT_CORRECTED = "this may flatter a little, because the model was chosen by it"


# ---- names


def class_names(outcome: Outcome) -> dict[str, str]:
    """Return what rows of both classes are called, in the words of the table.

    Rows are called "sick = yes" and "sick = no"; with more than two labels, negatives are called "another sick".

    >>> class_names(Outcome("sick", "yes", ("no", "yes")))
    {'positive': 'sick = yes', 'negative': 'sick = no'}
    >>> class_names(Outcome("price", 1, order="price"))["pair"]
    'rows that differ in price'
    """
    is_named = outcome.target is not None and not str(outcome.target).isdigit()
    target = _short(str(outcome.target)) if is_named else "label"
    inside = "" if outcome.within is None else f" of the same {_short(outcome.within)}"
    if outcome.order is not None:
        return {
            "positive": f"a larger {target}",
            "negative": f"a smaller {target}",
            "pair": f"rows{inside} that differ in {target}",
            "upper": f"the one with the larger {target}",
        }
    equals = f"{target} = " if is_named else "label "
    positive, negative = f"{equals}{_label_text(outcome.positive)}", f"another {target}"
    if len(outcome.others) == 1:
        negative = f"{equals}{_label_text(outcome.others[0])}"
    names = {"positive": positive, "negative": negative}
    if outcome.times is not None:
        names["pair"] = f"rows{inside} of which one is known to have had {positive} first"
    elif inside:
        names["pair"] = f"a row with {positive} and a row with {negative}{inside}"
    return names


def _short(name: str) -> str:
    """The name of a column, short enough for a sentence."""
    return isolated(shorten(str(name), 40))


def _label_text(label: Label) -> str:
    """A label as a sentence shows it; LIBSVM files hold numbers such as 1.0, which are shown as 1."""
    is_whole = isinstance(label, float) and label.is_integer()
    return _short(str(int(label) if is_whole else label))


def name_measure(outcome: Outcome) -> str:
    """Return the name of the measure of a ranking."""
    inside = "" if outcome.within is None else f" inside {outcome.within}"
    if outcome.times is None and outcome.order is None:
        return f"AUC{inside}"
    return f"concordance index{inside}"


def describe_higher(outcome: Outcome) -> str:
    """Return what a higher score means, for scores that only rank rows."""
    inside = "" if outcome.within is None else f", among rows of the same {outcome.within}"
    if outcome.order is not None:
        return f"a larger {outcome.target}{inside}"
    more = "more likely" if outcome.times is None else "an earlier"
    return f"{more} {outcome.target} = {outcome.positive}{inside}"


def describe_ranks(outcome: Outcome) -> str:
    """Return what a score that only ranks must not be taken for."""
    what = "a probability"
    if outcome.order is not None:
        what = f"a {outcome.target}"
    elif outcome.times is not None:
        what = "a time"
    alone = "" if outcome.within is None else f"Scores of rows that differ in {outcome.within} are not compared. "
    return f"{alone}The score ranks rows; it is not {what}, and it has no threshold."


def describe_direction(outcome: Outcome) -> str:
    if outcome.ranks:
        return f"A higher score means {describe_higher(outcome)}."
    return f"A higher score means that {equals_positive(outcome)} is more likely."


def equals_positive(outcome: Outcome) -> str:
    """The positive label, with the name of its column if it has one: "sick = yes"."""
    return f"{outcome.target} = {outcome.positive}" if outcome.target else f"{outcome.positive}"


# ---- the AUC


def describe_auc(auc: float, names: Mapping[str, str] | None = None) -> str:
    """Return what an AUC means; `names` are what rows of both classes are called, from `class_names`.

    >>> describe_auc(0.7253)
    'of 100 pairs of a positive and a negative row, 73 are ranked right (50 by guessing)'
    >>> describe_auc(0.834, {"positive": "sick = yes", "negative": "sick = no"})
    'Of 100 pairs of a row with sick = yes and a row with sick = no, 83 are ranked right.'
    >>> describe_auc(0.834, {"pair": "rows that differ in price", "upper": "the one with the larger price"})
    'Of 100 pairs of rows that differ in price, the one with the larger price is ranked higher in 83.'
    """
    count = f"{100 * auc:.0f}"
    if count == "100":
        count = "all" if auc == 1.0 else "more than 99"
    if names is None:
        return f"of 100 pairs of a positive and a negative row, {count} are ranked right (50 by guessing)"
    pair = names.get("pair") or f"a row with {names['positive']} and a row with {names['negative']}"
    if "upper" in names:
        return f"Of 100 pairs of {pair}, {names['upper']} is ranked higher in {count}."
    return f"Of 100 pairs of {pair}, {count} are ranked right."


def describe_balance(outcome: Outcome, rows: int, positives: int) -> str:
    """Return the number of rows and of positive rows; for a target with an order, the number of rows alone."""
    if outcome.order is not None:
        return f"{rows:,}"
    return f"{rows:,}, of which {positives:,} positive ({positives / rows:.2%}: {equals_positive(outcome)})"


def describe_partial(max_fpr: float) -> str:
    """What a partial AUC is, in one sentence."""
    return (
        f"The partial AUC is the AUC of the part of the curve up to {100 * max_fpr:g} % false positives, standardised: "
        "0.5 is guessing, 1 is perfect."
    )


def describe_source(evaluation: Evaluation) -> str:
    """Return the method behind the interval of an evaluation's AUC, and the number of groups if rows have any."""
    pairs = evaluation.times is not None or evaluation.within is not None
    source = "jackknife" if pairs and evaluation.auc.source == "DeLong" else evaluation.auc.source
    if evaluation.folds is not None:
        source += f", mean of {np.unique(evaluation.folds).size:,} folds"
    if evaluation.groups is None:
        return source
    return f"{source}, {np.unique(evaluation.groups).size:,} groups of rows"


class ExpectedAUC(NamedTuple):
    """The AUC to expect on new rows, its 95 % interval, and whether it is corrected for the choice of the model.

    With fewer than 6 groups of rows there is no interval: its ends are NaN.
    """

    auc: float
    low: float
    high: float
    remark: str


def expected_auc(model: Model) -> ExpectedAUC | None:
    """Return the cross-validated AUC, corrected for the choice of the model if known; None if the model stores none."""
    facts = model.training
    known: list[tuple[Any, Any, Any]] = [
        (facts.get(name), facts.get(f"{name}_low"), facts.get(f"{name}_high")) for name in ("cv_auc", "corrected_auc")
    ]
    shown, corrected = known
    if None in shown:
        return None
    if corrected[0] is None:
        return ExpectedAUC(*shown, NOT_CORRECTED)
    auc, low, high = (np.nan if value is None else value for value in corrected)
    tried = facts.get("selection", ())
    taken = sum(row["chosen"] for row in tried)
    best = f"a blend of {taken} models" if taken > 1 else f"the best of {len(tried)} models"
    best = best if len(tried) > 1 else "the best penalty"
    same = auc_text(shown[0]) == auc_text(auc)
    told = "showed the same" if same else f"showed {auc_text(shown[0])}; picking the best flatters"
    return ExpectedAUC(auc, low, high, f"{best} {told}")


def other_aucs(model: Model, kept: bool = False) -> dict[str, str]:
    """Return further AUCs, named by what differs from the AUC to expect.

    "as independent rows": without the groups that folds keep together (left out if rows were `kept` from the
    training); "without directions": of a model that is free to rise and fall, where columns are monotone.
    """
    facts, found = model.training, dict[str, str]()
    if "independent_auc" in facts and not kept:
        by = facts.get("groups", "duplicates")
        same = "copies of one row" if by == "duplicates" else f"rows with the same {by}"
        shown = auc_text(facts["independent_auc"])
        about = shown if shown.startswith("above") else f"about {shown}"
        flatter = "flatter it" if facts["independent_auc"] > facts["corrected_auc"] + 0.01 else "go together"
        found["as independent rows"] = f"{about} (a quick model): {same} {flatter}"
    if "unconstrained_auc" in facts:
        told = ", ".join(f"{name} {words}" for name, words in requests(model).items())
        found["without directions"] = f"{auc_text(facts['unconstrained_auc'])} ({told} by request)"
    return found


def requests(model: Model) -> dict[str, str]:
    """Return the direction that was requested for each monotone column: "rises" or "falls"."""
    told = model.training.get("monotone", {}).items()
    return {name: "rises" if sign > 0 else "falls" for name, sign in told if sign}


def doubt_of(low: float, high: float, confidence: float = 0.95, measure: str = "AUC") -> list[str]:
    """Return a warning if the model may be guessing: one sentence, or none.

    >>> doubt_of(0.47, 0.64)
    ['the model may be guessing: the 95 % interval of its AUC, 0.470 to 0.640, holds 0.5']
    >>> doubt_of(0.6, 0.7)
    []
    """
    if not low <= 0.5:
        return []
    interval = f"the {100 * confidence:g} % interval of its {measure}, {interval_text(low, high)},"
    if high < 0.5:
        return [f"the model ranks these rows worse than guessing, are the labels swapped? {interval} lies below 0.5"]
    return [f"the model may be guessing: {interval} holds 0.5"]


def doubts_of_column(name: str, outcome: Outcome, auc: AUCInterval) -> list[str]:
    """Return the warning of `doubt_of` for a column of scores that any model has made."""
    measure, subject = name_measure(outcome), f"column {name!r}"
    doubts = doubt_of(auc.low, auc.high, auc.confidence, measure)
    if not doubts or auc.high >= 0.5:
        return [text.replace("the model", subject) for text in doubts]
    words = "{name} ranks the wrong way round: its {measure} is {auc}. Where low scores stand for {positive}, give the "
    words += "negative of the column{other}"
    other: Message | str = ""
    if len(outcome.others) == 1 and not outcome.ranks:
        other = Message(", or add {option}", option=Parameter("positive", str(outcome.others[0])))
    positive = describe_higher(outcome) if outcome.ranks else class_names(outcome)["positive"]
    fields = {"measure": measure, "auc": auc_text(auc.auc), "positive": positive}
    return [Message(words, name=subject, other=other, **fields)]


def verdict(test: DeLongTest, a: str, b: str, measure: str = "AUC") -> str:
    """The result of a comparison in one sentence."""
    if np.isnan(test.p_value):
        return f"{a} and {b} differ by the same amount in every row: no test is possible."
    if test.p_value >= 1.0 - test.confidence:
        both = f"{auc_text(test.auc_a, 4)} and {auc_text(test.auc_b, 4)}"
        return f"No difference was found: {measure} {both}, p = {test.p_value:.3g}."
    better, worse = (a, b) if test.difference > 0 else (b, a)
    size = abs(test.difference)
    by = f"by {size:.4f}" if size >= 5e-5 else "by less than 0.0001"
    return f"{better} ranks better than {worse}: {by} in {measure}, p = {test.p_value:.3g}."


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def describe_tests(pairs: Sequence[ComparedPair], measure: str = "AUC") -> str:
    """The result of paired tests: which score ranks best, and which others differ from it by more than chance."""
    if len(pairs) == 1:
        return verdict(pairs[0].test, pairs[0].a, pairs[0].b, measure)
    aucs = {name: auc for a, b, test, _ in pairs for name, auc in ((a, test.auc_a), (b, test.auc_b))}
    best = max(aucs, key=lambda name: aucs[name])
    apart, near = list[str](), list[str]()
    for a, b, test, p in pairs:
        if best in (a, b):
            (apart if p < 1.0 - test.confidence else near).append(b if a == best else a)
    found = f"{best} has the highest {measure}, {auc_text(aucs[best], 4)}"
    found += f"; it ranks better than {listed(apart)} by more than chance" if apart else ""
    return f"{found}{'; no difference was found from ' + listed(near) if near else ''}."


def describe_beside(found: Comparison, measure: str = "AUC", grouped: bool = False) -> list[str]:
    """How a model compares with others whose out-of-fold scores were given, and what the comparison assumes."""
    others, told = listed(found.names[1:]), describe_tests(found.pairs, measure)
    told = f"{told[0].upper()}{told[1:]}" if told.startswith(found.names[0]) else told
    said = [f"{told} All are measured on the same {found.positive.size:,} held-out rows."]
    if found.optimism > 0.0:
        less = f"{found.optimism:.4f}"
        said.append(f"{less} was taken from the {measure} of this model, because these rows were used to choose it.")
    group = ", nor on rows of its group" if grouped else ""
    said.append(
        f"This assumes that {others} scored each row by a model that was not trained on it{group}. "
        f"The {measure} of {others} is not corrected: a model that was tuned on these rows looks better than it is."
    )
    if any(test.difference < -0.05 and p < 0.05 for a, _, test, p in found.pairs if a == found.names[0]):
        said.append("A gap this large is often a sign that the other model was trained on the rows that it scored.")
    return said


def describe_thresholds(
    evaluation: Evaluation, cost_ratio: float | None, recall: float
) -> Iterator[tuple[str, Threshold]]:
    """The thresholds with their meaning in words."""
    words = {
        "youden": "highest sensitivity + specificity (Youden)",
        "cost": f"least cost, one miss worth {cost_ratio:g} false alarms" if cost_ratio else "",
        "recall": f"finds {100 * recall:g} % of the positives",
        "model": "" if evaluation.promised is None else f"of the model: {evaluation.promised.words}",
    }
    for name, found in evaluation.thresholds.items():
        yield words[name], found


def describe_promise(evaluation: Evaluation) -> list[str]:
    """What the threshold of the model promised, and what it does on these rows: a sentence or two, or none."""
    if (promised := evaluation.promised) is None:
        return []
    found, parts = evaluation.thresholds["model"], []
    for name in ("sensitivity", "specificity", "precision", "share"):
        before, now = getattr(promised, name), getattr(found, name)
        if before is not None and now is not None:
            what = "share of the rows called" if name == "share" else name
            parts.append(f"{what} {before:.3f} in training, found {now:.3f}")
    asked = f"{100 * promised.asked:g} %"
    rule = {"recall": f"find at least {asked} of the positives", "alerts": f"call at most {asked} of the rows"}
    told = rule.get(promised.rule, f"be right in at least {asked} of the calls")
    sure = f"with {100 * (promised.confidence or 0.0):g} % confidence{promised.condition}"
    if (promised.sensitivity, promised.share) == (found.sensitivity, found.share):  # of the same rows
        if promised.confidence is not None:
            return [f"The model promises to {told}, {sure}: threshold {promised.threshold:g}."]
        return [f"The model stores the threshold {promised.threshold:g}, which {promised.words}."]
    measure, kept = {"recall": found.sensitivity, "alerts": found.share}.get(promised.rule, found.precision), ""
    if promised.confidence is not None and measure is not None:
        good = measure <= promised.asked if promised.rule == "alerts" else measure >= promised.asked
        kept = f"The model promised to {told}, {sure}. Here it is {100 * measure:.1f} %: {'' if good else 'not '}kept. "
    return [f"{kept}The threshold of the model, score at least {promised.threshold:g}: {'; '.join(parts)}."]


def describe_scores(model: Model, called: int) -> list[str]:
    """How many rows of a file are called positive, by which rule; what a score means; what a probability assumes."""
    direction = describe_direction(model.outcome)
    if model.ranks:
        return [f"{direction} {describe_ranks(model.outcome)}"]
    by, rests_on = "score above 0", "It is not a probability."
    if model.calibration is not None:
        by = "probability above 1/2"
        facts, share = model.training, ""
        if facts.keys() >= {"rows", "positives"}:
            share = f" ({facts['positives'] / facts['rows']:.0%})"
        positive = equals_positive(model.outcome)
        rests_on = f"The probability assumes that {positive} is as common as in training{share}."
    if (chosen := model.threshold) is not None:
        by = f"the threshold of the model, score at least {chosen.threshold:g}, which {chosen.words}"
    return [f"{called:,} rows of the file are called {model.positive} ({by}).", f"{direction} {rests_on}"]


def describe_calibration(found: Calibration | None) -> tuple[list[str], list[tuple[str, str, str]]]:
    """What is wrong with probabilities, beyond chance: a sentence or two, or none without probabilities.

    The second list has the name, the value with its interval, and the ideal value of each measure that is known.
    """
    if found is None:
        return [], []
    told, numbers = [], []
    if found.ratio.low > 1.0 or found.ratio.high < 1.0:
        wrong = f"{100 * found.ratio.value:.0f} positives were expected for 100 observed"
        told.append(f"Probabilities are too {'high' if found.ratio.low > 1.0 else 'low'} on average: {wrong}.")
    if found.slope.high < 1.0:
        told.append("Probabilities are too extreme: the truth is nearer to the average than they say.")
    elif found.slope.low > 1.0:
        told.append("Probabilities are too timid: the truth is further from the average than they say.")
    right = {"slope": "1 is right, less is too extreme", "intercept": "0 is right, more is too low"}
    for name, (value, low, high) in found._asdict().items():
        if not np.isnan(value):
            title = f"calibration {name}" if name in right else "expected ÷ observed"
            shown, *ends = (signed(number, sign=False) for number in (value, low, high))
            numbers.append((title, f"{shown} ({' to '.join(ends)})", right.get(name, "1 is right")))
    told = told or ["Probabilities agree with what was observed, as far as these rows tell."]
    return [" ".join(told)], numbers


def describe_benefit(at: float, over_all: Estimate, over_none: Estimate, confidence: float) -> str:
    """What it is worth to act on rows of at least this probability, compared with acting on all rows and on none."""
    verdict = "these rows do not tell whether the model is of use"
    if min(over_all.low, over_none.low) > 0.0:
        verdict = "the model is of use"
    elif min(over_all.high, over_none.high) < 0.0:
        verdict = f"it is better to act on {'everyone' if over_all.high < 0.0 else 'no one'}"
    parts = []
    for found, others in ((over_all, "everyone"), (over_none, "no one")):
        value, low, high = (100.0 * number for number in found)
        digits = 1 if max(abs(low), abs(high)) >= 1.0 else 3
        more = f"{abs(value):.{digits}f} {'more' if value >= 0.0 else 'fewer'} true alerts than acting on {others}"
        parts.append(f"{more} ({low:.{digits}f} to {high:.{digits}f})")
    price = f"{at / (1.0 - at):.2g}"
    end = f"{100 * confidence:g} % intervals; one false alarm cancels {price} true alert{'s' * (price != '1')}."
    told = f"If you act on rows with a probability of at least {100 * at:g} %, {verdict}"
    return f"{told}: per 100 rows {' and '.join(parts)}. {end}"


def describe_gain(curve: LearningCurve, lines: bool) -> str:
    """What twice and four times the rows would bring."""
    twice, four = curve.gain(2), curve.gain(4)
    band = f"90 % band {four.low:.3f} to {four.high:.3f}"
    kind = f"This is about {_KINDS['linear' if lines else 'additive']}; models of interactions may gain more."
    if curve.total > 1.5 * curve.rows[-1]:  # folds leave out a fifth alone
        kind += f" The curve was drawn from {round(1.25 * curve.rows[-1]):,} rows, taken at random."
    if four.value < 0.005:
        surely = "would change little" if four.high < 0.01 else "would probably change little"
        return f"More rows {surely}: four times as many bring about {four.value:+.3f} AUC ({band}). {kind}"
    brought = f"twice as many bring about {twice.value:+.3f} AUC, four times as many {four.value:+.3f} ({band})"
    return f"More rows would help: {brought}. {kind}"


def describe_needed(found: MoreRows, width: float | None, difference: float | None, power: float) -> list[str]:
    """How many rows an interval of this width takes, and a comparison of this difference, where they were asked for."""
    told = []
    for name, count in found.needed.items():
        what = f"A 95 % interval of the AUC that is {width:g} wide"
        if name != "width":
            what = f"To show that another AUC is larger by {difference:g}, with a power of {100 * power:g} %,"
        told.append(f"{what} takes {count:,} rows to test on ({count / found.curve.total:.2g} times those at hand).")
    return told


# ---- the model


_KINDS = {
    "linear": "straight lines",
    "standardized": "straight lines",
    "additive": "smooth curves",
    "kernel alone": "interactions alone",
    "kernel": "smooth curves and interactions",
    "tree": "interactions of random trees",
    "trees": "interactions of random trees",
    "forest": "forest of trees that learn from labels",
    "boosted": "boosted trees",
}


def describe_candidate(name: str) -> str:
    """Return what kind of model a candidate is, from its name in `selection`; unknown names stay as they are.

    >>> describe_candidate("boosted"), describe_candidate("kernel alone 0.3")
    ('boosted trees', 'interactions alone (kernel bandwidth 0.3)')
    """
    kind, _, size = name.rpartition(" ")
    if name in _KINDS:
        return _KINDS[name]
    setting = "maximum depth" if kind == "trees" else "kernel bandwidth"
    return f"{_KINDS[kind]} ({setting} {size})" if kind in _KINDS else name


def describe_result(row: Mapping[str, Any], rows: int) -> tuple[str, str]:
    """Return the mean over folds of a candidate ("" if fewer than `rows` rows were used), and what became of it.

    >>> describe_result({"chosen": True, "weight": 0.25, "auc": 0.9, "standard_error": 0.01, "rows": 90_000}, 90_000)
    ('0.9000 ± 0.0100', '25 % of the blend')
    >>> describe_result({"chosen": False, "auc": 0.927, "rows": 4_000}, 90_000)
    ('', 'tried on 4,000 rows only (0.927 there), behind the others')
    """
    compared, score, weight = row.get("rows", rows), row.get("score", row["auc"]), row.get("weight", 1.0)
    if compared < rows:
        folds, became = "", f"tried on {compared:,} rows only ({auc_text(score)} there), behind the others"
    else:
        folds, became = f"{auc_text(score, 4)} ± {row['standard_error']:.4f}", ""
    if row["chosen"]:
        became = "chosen" if weight == 1.0 else f"{100 * weight:.0f} % of the blend"
    return folds, became


def describe_fit(facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """Whether the fit reached the optimum, in short, and how that is known; None if the facts do not say.

    >>> describe_fit({"relative_gap": 2e-16})[0]
    'complete'
    >>> describe_fit({"relative_gap": None})[0]
    'without a certificate'
    """
    if None in (facts.get("relative_gap", 0.0), facts.get("relative_stationarity", 0.0)):
        return "without a certificate", (
            "There is no certificate: how far these coefficients are from the best ones is not known. So it is where "
            "held-out rows are ranked no better than by chance."
        )
    if "relative_gap" in facts:
        gap = facts["relative_gap"]
        short = "complete" if gap <= 1e-3 else f"stopped early, up to {gap:.0e} above the minimum"
        return short, (
            f"The certificate: no other coefficients have an objective that is smaller by more than {gap:.0e} of the "
            "objective with all coefficients 0. It holds in floating point."
        )
    if "relative_stationarity" in facts:
        return "no small change improves it", (
            "There is no certificate, because the penalty is not convex: distant coefficients may be better. No small "
            f"change improves these; the gradient is 0 to {facts['relative_stationarity']:.0e}."
        )
    return None


def describe_size(model: Model) -> str:
    """Return what the numbers of `find_strongest` measure."""
    if model.features is None:
        return "change of the score for one standard deviation"
    if model.shapes is None:
        return "part of the difference between the mean scores of the classes"
    return "how much each moves scores (standard deviation)"


def describe_curves(model: Model) -> str:
    """What the picture of a model shows, in a few sentences."""
    if model.features is None or model.shapes is None:
        return f"The features with the largest effects: {describe_size(model)}."
    shapes = model.shapes
    what = (
        "What each column adds to the score, the most important first, with a 95 % band of its shape, from the folds."
    )
    if shapes.interactions is None:
        what = f"{what} Together they are the score."
    return what


def describe_rest(model: Model) -> str:
    """Return what makes up the part of the score that no curve shows."""
    assert model.shapes is not None
    alone = len(model.shapes.columns) == 1
    what = "what the curve is too smooth to show" if alone else "what combinations of columns add"
    return f"{model.shapes.rest_name}: {what}, {100 * model.shapes.share:.1f} % of the variance of the score"


def describe_together(model: Model) -> list[str]:
    """A remark for each group of columns whose curves can hardly be told apart."""
    if model.shapes is None:
        return []
    near = {shape.name: set(shape.together) for shape in model.shapes.columns if shape.together}
    remarks, done = [], set()
    for first in near:
        if first in done:
            continue
        group, waiting = [], [first]
        while waiting:
            name = waiting.pop(0)
            if name not in done:
                done.add(name)
                group.append(name)
                waiting += [other for other in near if other in near[name] or name in near[other]]
        remarks.append(f"{listed(group)} say nearly the same: judge them together.")
    return remarks


def describe_pairs(model: Model) -> list[tuple[str, float]]:
    """The strongest pairs of columns that interact, with their parts of the variance of the score."""
    return [] if model.shapes is None else [(" × ".join(pair.names), pair.share) for pair in model.shapes.pairs]


def describe_rows_held(count: int) -> str:
    """Return the warning for a model file that holds rows of the table."""
    return f"this file contains data of {count:,} of your rows; share it with care, or use --private"


def training_facts(model: Model) -> dict[str, str]:
    """Return how the model was made, from the facts that it stores, and what kind of function its score is."""
    facts, words = model.training, {}
    if "data" in facts:
        words["trained on"] = ", ".join(facts["data"])
    if facts.keys() >= {"rows", "positives"}:
        positives = "" if "order" in facts else f", {facts['positives']:,} positive"
        words["rows"] = f"{facts['rows']:,}{positives}"
    kind = facts.get("map", "linear" if model.features is None else "feature map")
    told = _KINDS.get(kind, kind)
    if kind == "kernel" and model.features is not None and not model.features.has_effects:
        told = _KINDS["kernel alone"]
    # A file stores the features of a kernel added up; the facts have the number that was fitted.
    features = facts.get("features", model.coef.size)
    used = facts.get("nonzero", int((model.coef != 0.0).sum()))
    shown = f"{features:,} feature{'s' if features != 1 else ''}{f', {used:,} of them used' if used < features else ''}"
    words["model"] = f"{told} ({kind}), {shown}" if kind in _KINDS else f"{kind}, {shown}"
    if kind == "stacked":
        words["model"] = f"a blend of {sum(row['chosen'] for row in facts.get('selection', ()))} models, {shown}"
    words |= {name: facts[name] for name in ("groups", "weights", "event", "times", "order", "within") if name in facts}
    if (found := expected_auc(model)) is not None:
        interval = "interval " * bool(np.isnan(found.low)) + interval_text(found.low, found.high, 4)
        words[f"{name_measure(model.outcome)} to expect"] = f"{auc_text(found.auc, 4)} ({interval}); {found.remark}"
    if facts.keys() >= {"max_fpr", "cv_partial_auc", "cv_partial_auc_low", "cv_partial_auc_high"}:
        interval = interval_text(facts["cv_partial_auc_low"], facts["cv_partial_auc_high"], 4)
        part = f"up to {100 * facts['max_fpr']:g} % false positives"
        shown = f"{auc_text(facts['cv_partial_auc'], 4)} ({interval})"
        words["cross-validated partial AUC"] = f"{shown}, {part}; {NOT_CORRECTED}"
    if facts.get("loss", "squared") != "squared":
        words["loss"] = facts["loss"]
    if kind == "stacked":
        words["penalty"] = "each model of the blend has its own, chosen by the folds"
    elif facts.keys() >= {"l2", "l1"}:
        penalty = facts.get("penalty", USUAL_PENALTY)
        called = "" if penalty == USUAL_PENALTY else f"{penalty}, "
        used = "l2 keeps coefficients small, l1 sets some to 0" if facts["l1"] else "keeps coefficients small"
        words["penalty"] = f"{called}l2 = {facts['l2']:.3g}, l1 = {facts['l1']:.3g} ({used}; chosen by the folds)"
    if (fit := describe_fit(facts)) is not None:
        words["fit"] = fit[0]
    if (chosen := model.threshold) is not None:
        right = "" if chosen.precision is None else f", and {100 * chosen.precision:.1f} % of them are positive"
        words["threshold"] = (
            f"score at least {chosen.threshold:g} ({chosen.words}). On held-out rows it finds "
            f"{100 * chosen.sensitivity:.1f} % of the positives and calls {100 * chosen.share:.1f} % of the rows{right}"
        )
    if not model.ranks:
        words["calibration"] = "none" if model.calibration is None else model.calibration.method
    words["page written by"] = f"vrspam {__version__}"
    return words
