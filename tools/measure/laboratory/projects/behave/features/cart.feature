Feature: cart

  Scenario: passes
    Given a step that passes

  Scenario: always fails
    Given a step that fails

  Scenario: fails then passes
    Given a step that fails once

  @skip
  Scenario: is skipped
    Given a step that passes

  Scenario Outline: same name
    Given a step that <ends>

    Examples:
      | ends   |
      | passes |
      | fails  |

  Scenario Outline: same name, fails first
    Given a step that <ends>

    Examples:
      | ends   |
      | fails  |
      | passes |
