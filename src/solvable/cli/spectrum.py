"""What `solvable spectrum` prints."""

from typing import Any


def facts(found: Any, samples: int, output: str | None) -> dict[str, Any]:
    """Of the dataset of `theory.forecast`, for JSON."""
    return dict(found.attrs) | {
        "dim": found.sizes["rank"],
        "samples": samples,
        "largest_share": float(found["eigenvalue"][0] / found["eigenvalue"].sum()),
        "time": found["time"].values.tolist(),
        "small_rate_risk": found["small_rate_risk"].values.tolist(),
        "output": output,
    }


def lines(found: Any, told: dict[str, Any]) -> list[str]:
    """The same in words."""
    falls = f"the risk falls about as alpha^{told['exponent']:.3f} while the power law lasts"
    if not told["beta"] > 0:
        falls = "no power law to fall with (beta is not positive)"
    text = [
        f"{told['samples']} rows of {told['dim']} numbers; "
        f"the largest eigenvalue holds {told['largest_share']:.1%} of the variance",
        f"power law over ranks {told['first']} to {told['last']}: beta = {told['beta']:.3f} ± {told['beta_error']:.3f}, "
        f"and {told['beta_drift']:+.2f} from the window's first to its second half",
        f"as spread as a power law of {told['distinct']} eigenvalues; participation {told['participation']:.4g}",
        f"linear student: {falls}; rates below {told['rate_limit']:.4g}",
    ]
    if told["learning_rate"] >= told["rate_limit"]:
        text.append(
            f"  the rate {told['learning_rate']:g} is above that: SGD diverges, and what follows is the limit of small rates only"
        )
    if told["samples"] <= told["dim"]:
        text.append(f"  only {told['samples']} rows: small eigenvalues are too small, and some vanish")
    for alpha in (1.0, 10.0, 100.0):
        risk = float(found["small_rate_risk"].sel(time=alpha))
        text.append(f"  small-rate risk at alpha = {alpha:g} (rate {told['learning_rate']:g}): {risk:.4g}")
    text.append(
        f"{told['width']} erf students and teachers: plateau at risk {told['plateau_risk']:.4g}, "
        f"left at a rate of 2/tau, tau = {told['escape_time']:.4g} (alpha)"
    )
    return text
