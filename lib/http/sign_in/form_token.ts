// Tests: tests/routes/actions_test.ts
/** The field of a form that has the token of its session. */
export const FORM_TOKEN = "form_token";
