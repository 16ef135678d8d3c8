fn main() {
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), vec![]).exit();
}
