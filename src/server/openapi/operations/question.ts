/** The conversation that the documentation's examples answer. */
export const QUESTION = [{ role: 'user', content: 'What is 23 + 45?' }];
