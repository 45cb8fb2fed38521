//! Which column has which role: by flags, by `columns.toml`, or by its name.

use boostfgl_graph::{Error, GroupColumn, Result, nearest};

use super::tables::Tables;
use super::{Request, RoleFlags};
use crate::columns::{Columns, Role};
use crate::readers::text::quoted;

/// The roles of the columns of the node tables.
pub(super) struct NodeRoles {
    pub(super) id: usize,
    pub(super) label: Option<usize>,
    pub(super) split: Option<usize>,
    /// Position and name, without `group:`.
    pub(super) groups: Vec<(usize, String)>,
    pub(super) dropped: Vec<usize>,
    pub(super) features: Vec<usize>,
}

/// The roles of the columns of the edge tables.
pub(super) struct EdgeRoles {
    pub(super) src: usize,
    pub(super) dst: usize,
    pub(super) weight: Option<usize>,
    pub(super) dropped: Vec<usize>,
}

/// The role of each column of one kind of table, as far as it is said.
struct Given<'a> {
    header: &'a [String],
    roles: Vec<Option<Role>>,
    wrong: Vec<String>,
}

impl<'a> Given<'a> {
    /// What `columns.toml` says, then what flags say, then what names say.
    fn new(tables: &'a Tables, columns: &Columns, of_edges: bool, flags: &RoleFlags) -> Self {
        let header = &tables.header[..];
        let entries = if of_edges { &columns.edges } else { &columns.nodes };
        let mut given = Self { header, roles: vec![None; header.len()], wrong: Vec::new() };
        for (name, column) in entries {
            // New nodes have no labels yet, no role in training and need no groups.
            let optional = [Role::Label, Role::Split, Role::Group, Role::Drop];
            let optional = column.role.is_some_and(|role| optional.contains(&role));
            match header.iter().position(|title| title == name) {
                Some(at) => given.roles[at] = column.role,
                None if optional => {}
                None => given.unknown(name, "columns.toml"),
            }
        }
        let wanted = if of_edges { Role::OF_EDGES } else { Role::OF_NODES };
        for (role, flag, name) in flags.iter().filter(|(role, ..)| wanted.contains(role)) {
            match header.iter().position(|title| title == name) {
                Some(at) => given.set(role, at),
                // A column to drop may be one of the other kind of table.
                None if role == Role::Drop => {}
                None => given.unknown(name, &flag),
            }
        }
        given
    }

    /// Gives a column a role; a role that only one can have is taken from the other.
    fn set(&mut self, role: Role, at: usize) {
        if role.is_single() {
            self.roles.iter_mut().filter(|given| **given == Some(role)).for_each(|it| *it = None);
        }
        self.roles[at] = Some(role);
    }

    fn unknown(&mut self, name: &str, source: &str) {
        let near = nearest(name, self.header.iter().map(String::as_str));
        let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        self.wrong.push(format!("no column {} of {source}{near}", quoted(name)));
    }

    fn with(&self, role: Role) -> Option<usize> {
        self.roles.iter().position(|given| *given == Some(role))
    }

    /// The column of a role: as it is said, or the first without a role that has one of the names.
    fn found(&mut self, role: Role, names: &[&str]) -> Option<usize> {
        let free = |name: &&str| {
            (0..self.header.len())
                .find(|&at| self.roles[at].is_none() && self.header[at].eq_ignore_ascii_case(name))
        };
        let found = self.with(role).or_else(|| names.iter().find_map(free));
        if let Some(at) = found {
            self.roles[at] = Some(role);
        }
        found
    }

    /// As [`Given::found`]; it is a mistake that there is none.
    fn required(&mut self, role: Role, names: &[&str], flag: &str) -> usize {
        self.found(role, names).unwrap_or_else(|| {
            self.wrong.push(format!("none for {flag} ({flag} NAME or columns.toml names it)"));
            0
        })
    }

    fn all(&self, role: Role) -> Vec<usize> {
        (0..self.roles.len()).filter(|&at| self.roles[at] == Some(role)).collect()
    }

    fn without_role(&self) -> Vec<usize> {
        (0..self.roles.len())
            .filter(|&at| matches!(self.roles[at], None | Some(Role::Feature)))
            .collect()
    }

    /// All mistakes in one error.
    fn finish(self, place: &str) -> Result<()> {
        if self.wrong.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = self.header.iter().take(40).map(|name| quoted(name)).collect();
        let more = self.header.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let expected = format!("one of its columns for each role: {}{more}", names.join(", "));
        Err(Error::malformed(place, "", expected, self.wrong.join("; ")))
    }
}

impl NodeRoles {
    pub(super) fn find(tables: &Tables, request: &Request) -> Result<Self> {
        let mut given = Given::new(tables, &request.columns, false, &request.roles);
        let id = given.required(Role::Id, &["id"], "--id");
        let names = ["label", "class", "target", "y"];
        let label = given.found(Role::Label, &names);
        let known = request.columns.nodes.values().any(|it| it.role == Some(Role::Label));
        if label.is_none() && !known && !request.unlabelled {
            let reason = "none for --label (--unlabelled imports nodes without labels)";
            given.wrong.push(reason.to_owned());
        }
        let split = given.found(Role::Split, &["split"]);
        let mut groups = Vec::new();
        for (at, title) in tables.header.iter().enumerate() {
            let prefixed = title.strip_prefix("group:").map(str::trim);
            let is_group = match given.roles[at] {
                None => prefixed.is_some(),
                Some(role) => role == Role::Group,
            };
            if is_group {
                let name = prefixed.unwrap_or(title);
                if let Some(expected) = GroupColumn::objection(name) {
                    given.wrong.push(format!("the group {} ({expected})", quoted(title)));
                }
                given.roles[at] = Some(Role::Group);
                groups.push((at, name.to_owned()));
            }
        }
        let (dropped, features) = (given.all(Role::Drop), given.without_role());
        let reserved = |&&at: &&usize| is_reserved(&tables.header[at]);
        if let Some(&at) = features.iter().find(reserved) {
            given.wrong.push(format!(
                "the feature {}, a name that nodes.csv has for itself (--drop it or rename it)",
                quoted(&tables.header[at])
            ));
        }
        given.finish(&tables.place())?;
        Ok(Self { id, label, split, groups, dropped, features })
    }
}

/// Whether `nodes.csv` has a column of that name for another purpose.
fn is_reserved(name: &str) -> bool {
    ["id", "label", "split"].contains(&name) || name.starts_with("group:")
}

impl EdgeRoles {
    pub(super) fn find(tables: &Tables, request: &Request) -> Result<Self> {
        let mut given = Given::new(tables, &request.columns, true, &request.roles);
        let src = given.required(Role::Src, &["src", "source", "from"], "--src");
        let dst = given.required(Role::Dst, &["dst", "target", "to"], "--dst");
        let weight = given.found(Role::Weight, &["weight"]);
        let kept = [Some(src), Some(dst), weight];
        let dropped = (0..tables.header.len()).filter(|at| !kept.contains(&Some(*at))).collect();
        given.finish(&tables.place())?;
        Ok(Self { src, dst, weight, dropped })
    }
}
