"""What a parcel costs, and how long it takes."""


def cost(grams):
    """Cents for a parcel of this weight."""
    raise NotImplementedError


def days(zone):
    """Days until it arrives."""
    raise NotImplementedError


def fragile(cents):
    """Cents for a parcel that would cost so much if it could not break."""
    return cents
