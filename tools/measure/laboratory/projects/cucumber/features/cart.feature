Feature: cart

  Scenario: passes
    Given a step that passes

  Scenario: always fails
    Given a step that fails

  Scenario: fails then passes
    Given a step that fails once

  Scenario: same name
    Given a step that passes

  Scenario: same name
    Given a step that fails

  Scenario: same name, fails first
    Given a step that fails

  Scenario: same name, fails first
    Given a step that passes

  Scenario: is skipped
    Given a step that is missing
