attempts = 0

Given(/^a step that passes$/) {}
Given(/^a step that fails$/) { raise "1 is not 2" }
Given(/^a step that fails once$/) { raise "first attempt" if (attempts += 1) == 1 }
