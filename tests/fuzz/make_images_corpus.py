"""Writes corpus/idx, corpus/png and corpus/pixel_format: what is right (right_*) and what is wrong (broken_*).

Run by hand after a change.
"""

import struct
import zlib
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


def idx(*sizes, data=b"", kind=8):
    return struct.pack(">I", kind << 8 | len(sizes)) + b"".join(struct.pack(">I", s) for s in sizes) + data


IDX = {
    "right_images": idx(3, 2, 4, data=bytes(range(24))),
    "right_none": idx(0, 28, 28),
    "right_labels": idx(5, data=bytes([0, 9, 3, 255, 1])),
    "broken_empty": b"",
    "broken_magic": b"\x89PNG\r\n\x1a\n" + bytes(20),
    "broken_type": idx(1, 2, 2, data=bytes(16), kind=13),
    "broken_dimensions": idx(1, 2, 2, 3, data=bytes(12)),
    "broken_sizes": idx(3, 2, 4)[:11],
    "broken_cut": idx(3, 2, 4, data=bytes(23)),
    "broken_more": idx(3, 2, 4, data=bytes(25)),
    "broken_flat": idx(3, 0, 4),
    "broken_wide": idx(1, 1, 4097, data=bytes(4097)),
    "broken_many": idx(0xFFFFFFFF, 4096, 4096, data=bytes(9)),
    "broken_promise": idx(1000, 4096, 4096, data=bytes(9)),
    "broken_labels": idx(5, data=bytes(4)),
    "broken_labels_many": idx(0xFFFFFFFF, data=bytes(4)),
}


def chunk(name, data, check=None):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data) if check is None else check)


def png(width, height, depth, colour, rows, extra=b"", interlace=0, end=True):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))
    return (b"\x89PNG\r\n\x1a\n" + header + extra + chunk(b"IDAT", zlib.compress(rows))
            + (chunk(b"IEND", b"") if end else b""))


GREY = b"".join(b"\x00" + bytes([16 * y + x for x in range(4)]) for y in range(3))
PNG = {
    "right_grey": png(4, 3, 8, 0, GREY),
    "right_colour": png(2, 2, 8, 2, (b"\x00" + bytes([255, 0, 0, 0, 255, 0])) * 2),
    "right_palette": png(4, 1, 8, 3, b"\x00\x00\x01\x02\x00", chunk(b"PLTE", bytes([0, 0, 0, 255, 255, 255, 9, 99, 9]))),
    "right_clear": png(2, 1, 8, 6, b"\x00" + bytes([9, 9, 9, 0, 200, 200, 200, 128])),
    "right_deep": png(2, 1, 16, 0, b"\x00\x00\x00\xff\xff"),
    "right_bits": png(9, 1, 1, 0, b"\x00\xaa\x80"),
    "right_gamma": png(4, 3, 8, 0, GREY, chunk(b"gAMA", struct.pack(">I", 100000))),
    "broken_empty": b"",
    "broken_sign": b"GIF89a" + bytes(40),
    "broken_no_data": png(4, 3, 8, 0, GREY)[:33],
    "broken_cut": png(4, 3, 8, 0, GREY, end=False)[:-6],
    "broken_few_rows": png(4, 3, 8, 0, GREY[:7]),
    "broken_size": png(0, 3, 8, 0, GREY),
    "broken_large": png(0x7FFFFFFF, 0x7FFFFFFF, 8, 0, GREY),
    "broken_wide": png(5000, 1, 8, 0, bytes(5001)),
    "broken_promise": png(4096, 4096, 16, 6, GREY),
    "broken_depth": png(4, 3, 7, 0, GREY),
    "broken_palette": png(4, 1, 8, 3, b"\x00\x00\x01\x02\x09"),
    "broken_filter": png(4, 3, 8, 0, b"\x09" + GREY[1:]),
    "broken_check": b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 3, 8, 0, 0, 0, 0), 7),
    "broken_packed": b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 3, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", b"not zlib") + chunk(b"IEND", b""),
}

RIGHT = '{"type": "pixels", "version": 1, "width": 14, "height": 14, "levels": 16, "classes": ["coat", "가방"]}'
FORMAT = {
    "right_classes": RIGHT,
    "right_none": RIGHT.replace('["coat", "가방"]', "[]"),
    "broken_empty": "",
    "broken_list": "[" + RIGHT + "]",
    "broken_type": RIGHT.replace('"pixels"', '"char"'),
    "broken_version": RIGHT.replace('"version": 1', '"version": 2'),
    "broken_width": RIGHT.replace('"width": 14', '"width": 0'),
    "broken_large": RIGHT.replace('"width": 14', '"width": 18446744073709551615'),
    "broken_fraction": RIGHT.replace('"width": 14', '"width": 1.5'),
    "broken_levels": RIGHT.replace("16", "[2]"),
    "broken_no_height": RIGHT.replace("height", "hight"),
    "broken_twice": RIGHT.replace("가방", "coat"),
    "broken_class": RIGHT.replace('"coat"', "null"),
    "broken_classes": RIGHT.replace('["coat", "가방"]', '"coat"'),
}

for name, files in {"idx": IDX, "png": PNG, "pixel_format": FORMAT}.items():
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for file, content in files.items():
        (folder / file).write_bytes(content.encode() if isinstance(content, str) else content)
