"""Which certificates Java takes."""

import ssl


def as_java_trusts(context: ssl.SSLContext) -> ssl.SSLContext:
    """Let it take authorities without a key usage, too.

    From 3.13 on Python refuses them, and `openssl req -x509` makes such. What a company has signed
    with one would work with Kafka Connect and not with us.
    """
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
