// Tests: tests/lib/cli/sign_in_settings_test.ts
/** What sign-in needs to know. */
export interface SignInSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The organization of all who may sign in, or the claim that names each person's. */
  organization: { name: string } | { claim: string };
  /** The groups that may act, and the claim that names the groups of a person. */
  editors: { groups: readonly string[]; claim: string };
  /** The address of the service as its users see it, without a slash at its end. */
  publicUrl: string;
}
