"""Words that others have for the attributes of a trajectory, by which errors propose ours."""

from solvable.problems.nearest import telling_names

WORDS = {  # of others, by ours
    "student_overlap": ("Q", "q", "overlaps", "norms"),
    "cross_overlap": ("R", "M", "m", "overlap", "order_parameters", "magnetization", "magnetisation", "similarity"),
    "teacher_overlap": ("T", "P"),
    "readout": ("a", "v", "readouts", "second_layer"),
    "time": ("t", "times", "ts", "x"),
    "risk": (
        "error", "errors", "generalisation_error", "generalization_error", "gen_error", "test_error", "eps_g", "eg", "y",
        "excess_risk", "population_risk", "losses",
    ),
    "mse": ("mean_squared_error",),
    "training_loss": ("train_loss", "training_error", "train_error"),
    "test_loss": ("val_loss", "validation_loss"),
    "classification_error": ("accuracy", "acc", "zero_one_loss"),
    "weights": ("W", "w"),
    "data": ("ds", "dataset", "xr"),
    "to_dataframe": ("df", "to_pandas", "to_df", "dataframe"),
    "save": ("to_netcdf", "to_file", "dump"),
    "rate": ("lr", "learning_rate", "eta"),
    "message": ("status", "msg"),
}  # fmt: skip
NOTES = {
    "risk": "risk is training.loss_factor x the mean squared error, which is mse; loss is the mean of the loss that is trained on",
    "classification_error": "the accuracy is 1 - classification_error",
}
MEANT = {word: ours for ours, words in WORDS.items() for word in words}
of_trajectory = telling_names(MEANT, NOTES)
