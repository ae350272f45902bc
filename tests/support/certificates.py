"""Certificates for tests: an authority of their own, and those it has signed.

The authority has no key usage, as `openssl req -x509` makes it: Python 3.13 does not trust such
unless it is told to.
"""

import ssl
import subprocess
from pathlib import Path


def make_certificates(folder: Path) -> Path:
    """ca.pem, and with their keys server.pem and client.pem, for 127.0.0.1; the folder."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=authority")  # fmt: skip
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for who in ("server", "client"):
        openssl(
            "req", *new_key, "-keyout", f"{who}.key", "-out", f"{who}.csr", "-subj", f"/CN={who}"
        )
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{who}.csr", *signing, "-days", "2", "-out", f"{who}.crt")
        both = (folder / f"{who}.key").read_text() + (folder / f"{who}.crt").read_text()
        (folder / f"{who}.pem").write_text(both)
    return folder


def trusting(authority: Path) -> ssl.SSLContext:
    """For clients of the tests' own."""
    context = ssl.create_default_context(cafile=authority)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
