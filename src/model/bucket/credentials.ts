/** Credentials that requests are signed with. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Token that goes with credentials that end. */
  readonly sessionToken: string | null;
  /** Time at which they end, in milliseconds since 1970; null if never. */
  readonly expiresAt: number | null;
  /** For messages, such as `AWS_ACCESS_KEY_ID`. */
  readonly from: string;
}
