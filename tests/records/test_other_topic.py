"""The guard against two topics under one name: how often it misses an unrelated text, and how often
it stops a true next version."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from atlas_cli.cli import pages
from atlas_cli.records.likeness import alien

MISSED, STOPPED = 0.10, 0.02  # of all pairs, at most
SEEDS = random.Random(20261129)


def _sections() -> list[list[str]]:
    """The longer sections of the help pages, by page."""
    texts = []
    for topic in pages.TOPICS:
        parts = re.split(r"^## ", pages.source(topic), flags=re.MULTILINE)
        texts.append([part for part in parts if len(part.split()) >= 60])
    return texts


def _strangers() -> list[str]:
    """What the modules of Python's own library say of themselves: texts that know nothing of each
    other."""
    folder = Path(sysconfig.get_path("stdlib"))
    texts = []
    for file in sorted(folder.glob("*.py")):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        if len(text.split()) >= 60:
            texts.append(text)
    return texts


def _next_version(text: str, other: str) -> str:
    """A version that goes on from a text: some sentences stay, in another order, some words are
    replaced, and as much again is new."""
    sentences = re.split(r"(?<=[.:|])\s", text)
    left = SEEDS.sample(sentences, max(1, round(len(sentences) * SEEDS.uniform(0.4, 1))))
    words, pool = " ".join(left).split(), other.split()
    changed = SEEDS.uniform(0, 0.3)
    kept = [SEEDS.choice(pool) if SEEDS.random() < changed else word for word in words]
    return " ".join([*kept, *pool[: SEEDS.randrange(len(pool))]])


def test_texts_on_two_topics_are_told_apart() -> None:
    strangers = _strangers()
    assert len(strangers) >= 20, "enough to measure by"
    pairs = list(combinations(strangers, 2))
    passed = sum(not alien(one, other) for one, other in pairs)
    assert passed <= MISSED * len(pairs), f"{passed} of {len(pairs)} unrelated pairs passed"
    cross = [
        (one, other)
        for mine, theirs in combinations(_sections(), 2)
        for one in mine
        for other in theirs
    ]
    passed = sum(not alien(one, other) for one, other in cross)
    assert passed <= 0.5 * len(cross), f"{passed} of {len(cross)}, all about this one program"


def test_a_next_version_passes() -> None:
    texts = [text for page in _sections() for text in page] + _strangers()
    pairs = [
        (text, _next_version(text, other)) for text, other in pairwise(texts) for _ in range(10)
    ]
    stopped = sum(alien(old, new) for old, new in pairs)
    assert stopped <= STOPPED * len(pairs), f"{stopped} of {len(pairs)} next versions were stopped"


CHINESE = (
    "解析器现在可以处理嵌套的列表，速度提高了三倍。剩下的问题是错误信息不够清楚，需要在下一步改进。测试全部通过。",
    "今天的训练任务在第三块显卡上运行，学习率设为千分之一，损失函数在两千步以后不再下降，明天换一个数据集再试。",
    "数据库的表结构已经更新，用户表增加了邮箱一列，旧数据由脚本迁移，迁移前请先备份，回滚的办法写在文档末尾。",
)
JAPANESE = (
    "パーサーは入れ子のリストを扱えるようになり、速度は三倍になりました。残る課題はエラーの表示です。",
    "学習は三番目のカードで行い、二千歩のあと損失は下がりませんでした。明日は別のデータで試します。",
)
THAI = (
    "ตัวแยกวิเคราะห์รองรับรายการซ้อนกันแล้วและเร็วขึ้นสามเท่า เหลือเพียงข้อความแสดงข้อผิดพลาด",
    "การฝึกทำงานบนการ์ดใบที่สาม ค่าความสูญเสียไม่ลดลงหลังจากสองพันขั้น พรุ่งนี้จะลองข้อมูลชุดอื่น",
)


@pytest.mark.parametrize("texts", [CHINESE, JAPANESE, THAI], ids=["zh", "ja", "th"])
def test_a_script_without_blanks_is_read_as_well(texts: tuple[str, ...]) -> None:
    for one, other in combinations(texts, 2):
        assert alien(one, other)
        half = len(one) // 2
        assert not alien(one, one[half:] + other) and not alien(one, other + one[:half])


@pytest.mark.parametrize(
    ("old", "new", "stopped"),
    [
        ("too short", "to tell", False),
        ("a b c d e f g h i j k l m n", "", False),
        ("a b c d e f g h i j k l m n", "o p q r s t u v w x y z a c", True),
        ("a b c d e f g h i j k l m n", "n m l k j i h g f e d c b a b c", False),
        (
            "run loss acc\n" + "".join(f"r{n} {n * 7} {n * 3}\n" for n in range(20)),
            "run loss acc\n" + "".join(f"r{n} {n * 11} {n * 5}\n" for n in range(40, 60)),
            False,
        ),
    ],
)
def test_cases(old: str, new: str, stopped: bool) -> None:
    assert alien(old, new) is stopped
