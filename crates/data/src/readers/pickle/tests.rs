//! Pickles that are read, and those that are refused: code, false lengths, damage.

use super::*;
use crate::readers::testing::{Folder, pickled_csr, pickled_graph, survives_damage};

fn load(bytes: &[u8]) -> Result<Pickle> {
    let folder = Folder::new();
    folder.write("p", bytes);
    read(&folder.path("p"))
}

fn reason(bytes: &[u8]) -> String {
    load(bytes).expect_err("refused").to_string()
}

#[test]
fn code_is_refused_by_name() {
    // What pickle.dumps gives, in protocols 0 and 2, for an object whose __reduce__ is
    // (os.system, ("ls",)).
    assert!(
        reason(b"cos\nsystem\np0\n(S'ls'\np1\ntp2\nRp3\n.")
            .contains("`os.system`, which is not on the list")
    );
    assert!(
        reason(b"\x80\x02cposix\nsystem\nq\x00U\x02lsq\x01\x85q\x02Rq\x03.")
            .contains("`posix.system`")
    );
    for (module, name) in
        [("__builtin__", "eval"), ("builtins", "exec"), ("subprocess", "Popen"), ("numpy", "load")]
    {
        let message = reason(format!("c{module}\n{name}\n.").as_bytes());
        assert!(message.contains(&format!("`{module}.{name}`")), "{message}");
    }
    for code in [&b"(ios\nsystem\n."[..], b"Pid\n.", b"\x82\x01.", b"(o."] {
        assert!(reason(code).contains("not allowed"), "{code:?}");
    }
}

/// Published exploits of programs that load pickles.
#[test]
fn known_attacks_are_refused() {
    let attacks: [(&str, &[u8]); 14] = [
        ("os.system by reduce", b"\x80\x02cos\nsystem\nU\x02id\x85R."),
        ("nt.system, as Windows names it", b"\x80\x02cnt\nsystem\nU\x03dir\x85R."),
        ("eval", b"c__builtin__\neval\n(S'1'\ntR."),
        (
            "getattr, to reach what is hidden",
            b"cbuiltins\ngetattr\n(cnumpy\nndarray\nS'tofile'\ntR.",
        ),
        ("an import", b"c__builtin__\n__import__\n(S'os'\ntR."),
        ("a name through dots", b"cnumpy\ncore.multiarray.os.system\n(S'id'\ntR."),
        (
            "the reconstructor, with another class",
            b"ccopy_reg\n_reconstructor\n(cos\npopen\nc__builtin__\nobject\nNtR.",
        ),
        ("a default that is code", b"ccollections\ndefaultdict\n(cos\nsystem\ntR."),
        (
            "_reconstruct, with another class",
            b"cnumpy.core.multiarray\n_reconstruct\n(cos\nsystem\nK\x00\x85U\x01btR.",
        ),
        ("an instance", b"(S'id'\nios\nsystem\n."),
        ("an instance of a class", b"\x80\x02cos\nsystem\n)\x81."),
        (
            "a name from the stack, protocol 4",
            b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
        ),
        ("the registry of extensions", b"\x80\x02\x84\xff\xff\xff\x7f."),
        ("a persistent name", b"U\x02idQ."),
    ];
    for (what, bytes) in attacks {
        let message = load(bytes).err().unwrap_or_else(|| panic!("{what} was taken")).to_string();
        assert!(message.contains("expected a pickle of plain data"), "{what}: {message}");
    }
}

/// Lengths and positions far beyond the end of the file.
#[test]
fn false_lengths_and_positions_are_refused() {
    let claims: [&[u8]; 8] = [
        b"T\xff\xff\xff\x7f",
        b"X\xff\xff\xff\xff",
        b"\x8b\xff\xff\xff\x7f",
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"j\xff\xff\xff\xff.",
        b"g4294967295\n.",
        b"I99999999999999999999999999\n.",
    ];
    for bytes in claims {
        assert!(load(bytes).is_err(), "{bytes:?}");
    }
    // A large memo key takes no more memory than a small one.
    assert!(load(b"]r\xff\xff\xff\xff.").is_ok());
    // Ten lists, each of ten times the one before ("billion laughs"): ten thousand million
    // values if they were copied.
    let mut laughs = b"](K\x01K\x01eq\x00".to_vec();
    for level in 0..10u8 {
        laughs.extend(b"0](");
        laughs.extend([b'h', level].repeat(10));
        laughs.extend([b'e', b'q', level + 1]);
    }
    laughs.push(b'.');
    assert!(load(&laughs).unwrap().neighbour_lists().is_err());
}

#[test]
fn allowed_names_are_refused_with_other_arguments() {
    assert!(reason(b"c__builtin__\nlist\n(S'a'\ntR.").contains("list"));
    assert!(reason(b"cnumpy\nndarray\n)R.").contains("ndarray"));
    assert!(reason(b"ccollections\ndefaultdict\n(cnumpy\ndtype\ntR.").contains("defaultdict"));
}

/// Other readers of the file would find a second pickle after the first.
#[test]
fn bytes_after_the_end_are_refused() {
    assert!(load(b"].").is_ok());
    assert!(
        reason(b"].cos\nsystem\n.")
            .ends_with("byte 2: expected a pickle of plain data, found 12 bytes after its end")
    );
    assert!(reason(b"].\n").contains("found 1 bytes after its end"));
}

#[test]
fn protocol_0_is_understood() {
    let text = b"(dp0\nI0\n(lp1\nI1\naL2L\nasI1\n(lp2\nI0\nas.";
    assert_eq!(load(text).unwrap().neighbour_lists().unwrap(), [(0, vec![1, 2]), (1, vec![0])]);
}

#[test]
fn broken_programs_are_refused() {
    for bytes in [
        &b""[..],
        b".",
        b"a.",
        b"(.",
        b"N",
        b"]a.",
        b"NNs.",
        b"}(K\x01u.",
        b"h\x00.",
        b"t.",
        b"\x86.",
        b"Nb.",
        b"NR.",
        b"U\xff",
        b"T\xff\xff\xff\xff",
        b"\x8a\x09aaaaaaaaa.",
        b"Ix\n.",
        b"Fx\n.",
        b"S'\\\n.",
        b"S'a\n.",
        b"(0.",
        b"\x80\x05.",
        b"\x80\x02)\x81.",
    ] {
        assert!(load(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn deep_and_circular_values_are_errors() {
    let mut deep = b"]".repeat(100_000);
    deep.extend(b"a".repeat(99_999));
    deep.push(b'.');
    assert!(load(&deep).unwrap().neighbour_lists().is_err());
    assert!(load(b"]q\x00h\x00a.").unwrap().csr().is_err());
}

#[test]
fn sharing_does_not_multiply_memory() {
    // A thousand keys that all refer to one list of a thousand nodes: a million neighbours in 5
    // kB.
    let mut shared = b"}(K\x00](".to_vec();
    shared.extend(b"K\x01".repeat(1000));
    shared.extend(b"eq\x00");
    shared.extend(b"K\x00h\x00".repeat(1000));
    shared.extend(b"u.");
    let message = load(&shared).unwrap().neighbour_lists().unwrap_err().to_string();
    assert!(message.contains("repeated lists"), "{message}");
    let sides = b"K\x01".repeat(100);
    let state = [
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nNNtR(K\x01(",
        &sides[..],
        b"tN\x89U\x00tb.",
    ]
    .concat();
    assert!(reason(&state).contains("shape"));
}

#[test]
fn damage_never_panics() {
    let folder = Folder::new();
    folder.write("g", &pickled_graph(&[(0, &[1, 2]), (1, &[0]), (2, &[0])]));
    survives_damage(&folder.path("g"), |path| read(path).and_then(|p| p.neighbour_lists()).is_ok());
    folder.write("x", &pickled_csr(2, 3, &[0, 1, 2], &[2, 0], &[1.0, 0.5]));
    survives_damage(&folder.path("x"), |path| read(path).and_then(|p| p.csr()).is_ok());
}
