-- Checks that were asked for and not done yet, which are few: a check that is recorded looks here before it is put off.
CREATE INDEX detail_requested ON detail (id) WHERE requested IS NOT handled;
