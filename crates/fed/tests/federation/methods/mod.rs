//! What each method must do by its own definition, one file per method or family.

mod adafgl;
mod fairfgl;
mod fedsage_plus;
mod fedspray;
mod fedtad;
mod rivals;
