"""Small cases of what `chairlift optimize` computes, by NumPy and by other formulas than its own.

Usage: python3 scripts/references/optimize.py test/fixtures/optimize.json
Needs: pip install numpy (written with 2.4)
"""

import json
import sys

import numpy as np

ROWS, COLUMNS, TOKENS = 6, 8, 40
KEPT = [0, 2, 3, 5, 7]


def ridge(inputs: np.ndarray, outputs: np.ndarray, damping: float) -> np.ndarray:
    """The W [rows, columns] with least |inputs W^T - outputs|^2 + damping |W|^2, by a longer system."""
    columns = inputs.shape[1]
    stacked = np.vstack([inputs, np.sqrt(damping) * np.eye(columns)])
    wanted = np.vstack([outputs, np.zeros((columns, outputs.shape[1]))])
    return np.linalg.lstsq(stacked, wanted, rcond=None)[0].T


def damping_of(gram: np.ndarray, share: float) -> float:
    return share * np.trace(gram) / len(gram)


def brain_compression(weights: np.ndarray, hessian: np.ndarray, replace) -> np.ndarray:
    """Column by column, with the inverse Hessian of the columns that are left (Frantar and Alistarh)."""
    weights = weights.copy()
    left = list(range(weights.shape[1]))
    for column in range(weights.shape[1]):
        inverse = np.linalg.inv(hessian[np.ix_(left, left)])
        after = replace(weights[:, column], column)
        error = (weights[:, column] - after) / inverse[0, 0]
        weights[:, left] -= np.outer(error, inverse[0])
        weights[:, column] = after
        left.pop(0)
    return weights


def main(path: str) -> None:
    random = np.random.default_rng(7)
    weights = random.normal(size=(ROWS, COLUMNS)).astype(np.float32).astype(np.float64)
    mixing = random.normal(size=(COLUMNS, COLUMNS))
    inputs = random.normal(size=(TOKENS, COLUMNS)) @ mixing
    errors = random.normal(size=(TOKENS, ROWS))
    gram = inputs.T @ inputs

    # What is left of W is changed so that the outputs of all of it are met.
    kept = inputs[:, KEPT]
    lost = inputs @ weights.T - kept @ weights[:, KEPT].T
    refit = weights[:, KEPT] + ridge(kept, lost, damping_of(kept.T @ kept, 1e-4))
    refit_to = weights + ridge(inputs, errors, damping_of(gram, 1e-4))

    def contribution(first: int, unit: int) -> float:
        columns = slice(first, first + unit)
        return float(((inputs[:, columns] @ weights[:, columns].T) ** 2).sum())

    hessian = gram + damping_of(gram, 0.01) * np.eye(COLUMNS)
    norms = np.linalg.norm(inputs, axis=0)
    scores = np.abs(weights) * norms
    wanda = np.zeros((ROWS, COLUMNS), dtype=int)
    for row in range(ROWS):
        wanda[row, np.argsort(scores[row], kind="stable")[: COLUMNS // 2]] = 1
    magnitude = np.zeros(ROWS * COLUMNS, dtype=int)
    magnitude[np.argsort(np.abs(weights).ravel(), kind="stable")[: ROWS * COLUMNS // 4]] = 1
    fours = np.abs(weights).reshape(-1, 4)
    two_of_four = (fours.argsort(1, kind="stable").argsort(1) < 2).astype(int)
    blocks = np.abs(weights).reshape(ROWS // 2, 2, COLUMNS // 2, 2).mean((1, 3))
    chosen = np.zeros(blocks.size, dtype=int)
    chosen[np.argsort(blocks.ravel(), kind="stable")[: blocks.size // 2]] = 1
    by_block = np.kron(chosen.reshape(blocks.shape), np.ones((2, 2), dtype=int))

    before, after = random.normal(size=(2, TOKENS, COLUMNS))
    cosines = (before * after).sum(1) / np.linalg.norm(before, axis=1) / np.linalg.norm(after, axis=1)

    numbers = lambda array: np.asarray(array).ravel().tolist()
    result = {
        "rows": ROWS,
        "columns": COLUMNS,
        "weights": numbers(weights),
        "gram": numbers(gram),
        "kept": KEPT,
        "refit": numbers(refit),
        "error": numbers(inputs.T @ errors),
        "refit_to": numbers(refit_to),
        "contributions": [contribution(column, 1) for column in range(COLUMNS)],
        "contributions_of_four": [contribution(first, 4) for first in range(0, COLUMNS, 4)],
        "inverse_factor": numbers(np.linalg.cholesky(np.linalg.inv(gram)).T),
        "rounded_to_halves": numbers(
            brain_compression(weights, hessian, lambda column, _: np.floor(2 * column + 0.5) / 2)
        ),
        "pruned_by_wanda": numbers(
            brain_compression(
                weights, hessian, lambda values, column: np.where(wanda[:, column], 0, values)
            )
        ),
        "norms": numbers(norms),
        "wanda": numbers(wanda),
        "magnitude": numbers(magnitude),
        "two_of_four": numbers(two_of_four),
        "by_block": numbers(by_block),
        "before": numbers(before.astype(np.float32)),
        "after": numbers(after.astype(np.float32)),
        "cosine": float(cosines.mean()),
    }
    with open(path, "w") as file:
        json.dump(result, file)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
