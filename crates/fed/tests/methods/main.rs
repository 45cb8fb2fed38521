//! What each method must do by its own definition, one file per method or family.

#[path = "../common/small.rs"]
mod small;

mod adafgl;
mod fedsage_plus;
mod fedtad;
mod rivals;
