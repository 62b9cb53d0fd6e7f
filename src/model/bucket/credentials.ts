/** What requests are signed with. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that end. */
  readonly sessionToken: string | null;
  /** When they do, in milliseconds since 1970; null if never. */
  readonly expiresAt: number | null;
  /** For messages, such as `AWS_ACCESS_KEY_ID`. */
  readonly from: string;
}
