"""Scores of adaptation as they are defined, one loop after the other."""

import math


def mean(numbers):
    return sum(numbers) / len(numbers)


def scores(values, optimal, changes, frozen, window, tolerance):
    """A dictionary for each change."""
    g = [v / best for v, best in zip(values, optimal, strict=True)]
    found = []
    for i, c in enumerate(changes):
        end = changes[i + 1] if i + 1 < len(changes) else len(values)
        start = changes[i - 1] if i else 0
        before = mean([g[t] for t in range(c - window, c) if t >= start])
        recovery, recovered = end - c, False
        for n in range(end - c):
            if c + n + window > end:
                break
            if mean([g[t] for t in range(c + n, c + n + window)]) >= before - tolerance:
                recovery, recovered = n, True
                break
        found.append(
            dict(
                change=c,
                drop=before - g[c],
                retention=frozen[i] / values[c - 1],
                resilience=frozen[i] / optimal[c],
                recovery=(recovery, recovered),
                area=sum(max(before - g[t], 0) for t in range(c, end)),
                adaptability=1
                - sum(optimal[t] - values[t] for t in range(c, end)) / sum(optimal[t] for t in range(c, end)),
            )
        )
    return found


def median(recoveries):
    """Kaplan and Meier's, from round to round."""
    surviving = 1.0
    for n in range(max(rounds for rounds, _ in recoveries) + 1):
        watched = sum(rounds >= n for rounds, _ in recoveries)
        happened = sum(rounds == n and recovered for rounds, recovered in recoveries)
        if watched:
            surviving *= 1 - happened / watched
        if surviving <= 0.5 + 1e-12:
            return n
    return math.inf


def lag(predictions, truth, at_most):
    """The first n of the largest correlation."""
    best, found = -math.inf, 0
    for n in range(at_most + 1):
        pairs = [(predictions[t], truth[t - n]) for t in range(at_most, len(truth))]
        x, y = mean([a for a, _ in pairs]), mean([b for _, b in pairs])
        cross = sum((a - x) * (b - y) for a, b in pairs)
        size = math.sqrt(sum((a - x) ** 2 for a, _ in pairs) * sum((b - y) ** 2 for _, b in pairs))
        if cross / size > best + 1e-12:
            best, found = cross / size, n
    return found


def decision_lag(values, optimal, chance, lags):
    """The first lag of the largest mean skill, whether or not it is clearly above 0."""
    best, found = -math.inf, None
    for n, lag in enumerate(lags):
        skills = [
            (values[n][t] - chance[n][t]) / (optimal[n][t] - chance[n][t])
            for t in range(len(values[n]))
            if all(optimal[m][t] > chance[m][t] for m in range(len(lags)))
        ]
        if mean(skills) > best + 1e-12:
            best, found = mean(skills), lag
    return found


def alarms(rung, changes, num_rounds):
    """Delays, misses, and false alarms in 1,000 rounds."""
    delays, misses, true = [], 0, set()
    for i, c in enumerate(changes):
        end = changes[i + 1] if i + 1 < len(changes) else num_rounds
        for t in range(c, end):
            if t in rung:
                delays.append(t - c)
                true.add(t)
                break
        else:
            misses += 1
    return tuple(delays), misses, 1000 * sum(t not in true for t in rung) / num_rounds
