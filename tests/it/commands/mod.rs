//! What each command replies and writes, by the module and by its equivalent script.

mod binary_safety;
mod command_info;
mod contract;
pub mod contract_cases;
pub mod differential;
mod fuzz;
mod heartbeat;
mod nested_calls;
mod random_steps;
mod watch;

use crate::suite::Group;

/// The tests of this group.
pub const TESTS: Group = Group {
    with_module: tests![
        contract::is_kept_by_module_and_script,
        contract::expired_keys_are_absent,
        differential::module_and_script_agree,
        watch::fires_for_exactly_the_written_keys,
        heartbeat::notifies_of_an_expired_field,
        heartbeat::refuses_a_replaced_key,
        nested_calls::are_served_on_a_full_server,
        binary_safety::accepts_any_byte_anywhere,
        fuzz::no_input_stops_the_server,
        command_info::is_as_the_contract_says,
        command_info::getkeys_finds_every_key,
    ],
    ..Group::EMPTY
};
