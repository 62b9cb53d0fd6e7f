/** Questions for records with their answers, each with keys of its own. */

type Value = string | number | boolean;

interface RecordPrompt {
  readonly text: string;
  readonly schema: object;
  readonly answer: string;
}

const RECORDS: readonly Readonly<Record<string, Value>>[] = [
  { full_name: 'Ada Bell', age_in_years: 36, occupation: 'pilot', home_town: 'Lyon' },
  { order_number: 4711, product_name: 'brass lamp', quantity: 3, is_gift: true },
  { location: 'Berlin', temperature_celsius: 12, conditions: 'light rain', humidity_percent: 81 },
  { title: 'The Quiet Harbour', author: 'Maya Stone', publication_year: 1987, page_count: 210 },
  { summary: 'the page does not open', severity: 'major', is_reproducible: true },
  { subject: 'budget', start_hour: 9, duration_minutes: 45, participants: 'Sam and Nora' },
  { sentiment: 'positive', confidence: 0.92, key_phrase: 'very good food', would_return: true },
  { invoice_id: 1204, customer_name: 'Nora Field', total_amount: 120.5, has_been_paid: false },
  { dish_name: 'onion soup', servings: 4, preparation_time: 35, is_vegetarian: true },
  { departure_airport: 'Paris', arrival_airport: 'Kyoto', cabin_class: 'economy', stop_count: 1 },
  { street_address: '12 Mill Lane', bedroom_count: 3, floor_area: 84.5, has_garden: true },
  { assigned_to: 'Emil', description: 'paint the fence', priority_level: 'high', hours: 2 },
  { animal_species: 'cat', pet_name: 'Opal', weight_kilograms: 3.8, is_vaccinated: true },
  { track_title: 'Slow River', performing_artist: 'Zack', genre: 'folk', length_seconds: 182 },
  { host_name: 'north-7', operating_system: 'linux', memory_gigabytes: 64, is_running: true },
  { student_identifier: 5512, favourite_subject: 'history', average_grade: 1.7 },
  { manufacturer: 'Falcon', model_year: 2019, body_colour: 'red', fuel_type: 'hybrid' },
  { tracking_code: 'KX-2210', delivery_state: 'delayed', requires_signature: true },
  { peak_name: 'Silver Horn', elevation_metres: 4100, mountain_range: 'Alps', first_climbed: 1862 },
  { transaction_reference: 90125, payment_method: 'card', was_successful: true },
];

export function recordPrompts(): RecordPrompt[] {
  return RECORDS.map((record) => ({
    text: `Give me a JSON object with the keys ${Object.keys(record).join(', ')}.`,
    schema: schemaOf(record),
    // The layout of grammars of JSON schemas.
    answer: `{${Object.entries(record)
      .map(([key, value]) => `"${key}": ${JSON.stringify(value)}`)
      .join(', ')}}`,
  }));
}

/** Schema of a value and for others like it: its keys, all required, and their types. */
export function schemaOf(value: unknown): object {
  if (Array.isArray(value)) return { type: 'array', items: schemaOf(value[0]) };
  if (typeof value !== 'object' || value === null) return { type: typeof value };
  const members = Object.entries(value);
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(([key, member]) => [key, schemaOf(member)])),
    required: members.map(([key]) => key),
    additionalProperties: false,
  };
}
