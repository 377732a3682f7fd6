pub fn modules_import_one_way() {}
