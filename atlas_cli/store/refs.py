"""REFs by their operation, as the records keep them, told by the number that the document has got:
where the cache is asked, nobody meets another form."""

from __future__ import annotations

import json
import re
from typing import Any

from ..model import names
from ..model.text import Record
from .follower import Follower


class Refs(Follower):
    """The REFs of the cache of one store."""

    def numbered(self, ref: str) -> str:
        """The REF with its number. The REF itself, if it has one, or if its operation wrote nothing
        that is here."""
        if names.BY not in ref:
            return ref
        row = self._one("SELECT ref FROM records WHERE alias=? ORDER BY seq, path LIMIT 1", ref)
        return row[0] if row and row[0] else ref

    def with_numbers(self, value: Any) -> Any:
        """A record, or a part of one, with the numbers of the REFs that it keeps."""
        return names.with_numbers(value, self.numbered)

    def in_line(self, line: str) -> str:
        """A line that Atlas wrote, as the subject of a commit, with numbers."""
        if names.BY not in line:
            return line
        return re.sub(names.BY_OPERATION, lambda match: self.numbered(match[0]), line)

    def loaded(self, data: str) -> Record:
        """A record as the cache keeps it, with numbers."""
        record: Record = json.loads(data)
        return self.with_numbers(record) if names.BY in data else record

    def _forms(self, ref: str) -> tuple[str, str]:
        """The two forms in which records may keep a REF."""
        ref = self.numbered(ref)
        row = self._one("SELECT alias FROM records WHERE ref=?", ref)
        return ref, (row[0] if row else None) or ref
