"""Writes corpus/safetensors: small files that are right (right_*) and files that lie, each in its own way (broken_*).

Run by hand after a change; io_test reads every file and knows what must be said of the broken ones.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "corpus" / "safetensors"


def file(header, data=b"", length=None):
    if isinstance(header, str):
        header = header.encode()
    return (len(header) if length is None else length).to_bytes(8, "little") + header + data


def tensor(dtype='"F32"', shape="[1]", offsets="[0,4]", name="a"):
    return f'"{name}":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}'


def one(data=b"\0" * 4, **fields):
    return file("{" + tensor(**fields) + "}", data)


def several(*tensors, data):
    return file("{" + ",".join(tensors) + "}", data)


A, B = tensor(), tensor(name="b", offsets="[4,8]")
FILES = {
    "right_nothing": file("{}"),
    "right_one": one(),
    "right_padded": file("{" + A + "}   ", b"\0\0\x80\x3f"),
    "right_two": several(A, B, data=b"12345678"),
    "right_two_backwards": several(B, A, data=b"12345678"),
    "right_metadata": file('{"__metadata__":{"format":"pt","":"\\u00e9"},' + A + "}", b"1234"),
    "right_metadata_only": file('{"__metadata__":{}}'),
    "right_empty_tensors": several(tensor(shape="[0,3]", offsets="[0,0]"), tensor(name="b"), data=b"1234"),
    "right_scalar": one(dtype='"BF16"', shape="[]", offsets="[0,2]", data=b"12"),
    "right_unaligned": several(tensor('"U8"', "[1]", "[0,1]"), tensor('"F64"', "[1]", "[1,9]", "b"), data=b"123456789"),
    "right_escaped_name": one(name="\\ud55c\\n\\u0000"),
    "broken_empty_file": b"",
    "broken_short_file": b"\1\0\0",
    "broken_no_header": file(""),
    "broken_length_beyond_file": file("{}", length=3),
    "broken_length_over_limit": file("{}", length=100000001),
    "broken_length_all_ones": file("{}", length=2**64 - 1),
    "broken_header_list": file("[]"),
    "broken_header_space_first": file(" {}"),
    "broken_header_bom": file(b"\xef\xbb\xbf{}"),
    "broken_header_not_utf8": one(name="a").replace(b'"a"', b'"\xff"'),
    "broken_header_cut": file("{" + A[:20]),
    "broken_header_two_values": file("{}{}"),
    "broken_header_zero_byte": file(b"{}\0 "),
    "broken_header_comment": file("{/**/}"),
    "broken_header_surrogate": one(name="\\ud55c\\udc00\\ud800"),
    "broken_nesting": file('{"a":' + "[" * 2000),
    "broken_nesting_objects": file('{"a":' * 1000),
    "broken_nesting_shape": one(shape="[[1]]"),
    "broken_twice_tensor": several(A, tensor(offsets="[4,8]"), data=b"12345678"),
    "broken_twice_field": file('{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"1234"),
    "broken_twice_metadata": file('{"__metadata__":{},"__metadata__":{}}'),
    "broken_twice_metadata_name": file('{"__metadata__":{"k":"1","k":"2"}}'),
    "broken_metadata_list": file('{"__metadata__":[]}'),
    "broken_metadata_number": file('{"__metadata__":{"k":1}}'),
    "broken_tensor_null": file('{"a":null}'),
    "broken_field_unknown": file('{"a":{"dtyp":"F32"}}'),
    "broken_field_missing": file('{"a":{"dtype":"F32","data_offsets":[0,4]}}', b"1234"),
    "broken_dtype_unknown": one(dtype='"F23"'),
    "broken_dtype_number": one(dtype="32"),
    "broken_shape_text": one(shape='"1"'),
    "broken_shape_negative": one(shape="[-1]"),
    "broken_shape_fraction": one(shape="[1.0]"),
    "broken_shape_nan": one(shape="[NaN]"),
    "broken_shape_true": one(shape="[true]"),
    "broken_shape_huge": one(shape="[18446744073709551615]"),
    "broken_shape_huger": one(shape="[184467440737095516150]"),
    "broken_shape_infinite": one(shape="[1e999]"),
    "broken_shape_product": one(shape="[4294967296,4294967296]"),
    "broken_shape_product_wraps": one(shape="[4611686018427387905]"),
    "broken_shape_product_zero": one(shape="[0,9223372036854775807,2]", offsets="[0,0]", data=b""),
    "broken_shape_dimensions": one(shape="[" + ",".join(["1"] * 65) + "]"),
    "broken_offsets_one": one(offsets="[0]"),
    "broken_offsets_three": one(offsets="[0,4,8]"),
    "broken_offsets_object": one(offsets="{}"),
    "broken_offsets_backwards": one(offsets="[4,0]"),
    "broken_offsets_beyond": one(shape="[2]", offsets="[0,8]"),
    "broken_offsets_far_beyond": one(offsets="[9223372036854775803,9223372036854775807]"),
    "broken_offsets_size": one(offsets="[0,3]"),
    "broken_offsets_overlap": several(A, tensor(name="b", offsets="[2,6]"), data=b"123456"),
    "broken_offsets_same": several(A, tensor(name="b"), data=b"1234"),
    "broken_offsets_hole_first": one(offsets="[4,8]", data=b"12345678"),
    "broken_offsets_hole": several(A, tensor(name="b", offsets="[8,12]"), data=b"123456789012"),
    "broken_offsets_hole_last": one(data=b"12345"),
    "broken_offsets_empty_inside": several(A, tensor(shape="[0]", offsets="[2,2]", name="b"), data=b"1234"),
    "broken_name_lines": one(name="a\\nb\\u001b[31m\\u009b", offsets="[0,3]"),
}

FOLDER.mkdir(parents=True, exist_ok=True)
for old in FOLDER.iterdir():
    old.unlink()
for name, content in FILES.items():
    (FOLDER / name).write_bytes(content)
