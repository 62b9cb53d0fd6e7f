"""Tool calling in the style of Hermes and Qwen."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from skills.json_tasks import dumps
from skills.words import CITIES, DAYS, FOODS, ROOMS, SIMPLE_WORDS
from skills.wording import Turns, casual, fake_name, person

TOOLS_HEADER = "You can call these tools:\n<tools>\n"
TOOLS_FOOTER = (
    "\n</tools>\nTo call a tool, answer with a JSON object in this form:\n"
    '<tool_call>\n{"name": <tool name>, "arguments": <arguments object>}\n</tool_call>'
)

SYSTEM_PROMPTS = [
    "",
    "",
    "You are a helpful assistant.",
    "You are Summit, a small helpful assistant.",
    "Use the tools when they help.",
]

# (a unit, another unit, how many of the other one it is)
CONVERSIONS = [
    ("kilometres", "miles", 0.62),
    ("metres", "feet", 3.28),
    ("kilograms", "pounds", 2.2),
    ("litres", "gallons", 0.26),
    ("celsius", "fahrenheit", 1.8),
    ("centimetres", "inches", 0.39),
    ("hours", "minutes", 60),
    ("grams", "ounces", 0.035),
]


@dataclass(frozen=True)
class ToolUse:
    """A tool, a request that needs it, the call, what the tool returns, and the final answer."""

    tool: dict
    request: str
    arguments: dict
    result: dict
    answer: str

    @property
    def name(self) -> str:
        return self.tool["function"]["name"]


def schema(name: str, description: str, properties: dict) -> dict:
    """A tool in the OpenAI format; all of its properties are required."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
            },
        },
    }


def string(description: str) -> dict:
    """The schema of a string property."""
    return {"type": "string", "description": description}


def number(description: str) -> dict:
    """The schema of a number property."""
    return {"type": "number", "description": description}


def tool_system(system: str, tools: list[dict]) -> str:
    """The system message that offers the tools, as the chat template writes it."""
    listed = "\n".join(dumps(tool) for tool in tools)
    return (system + "\n\n" if system else "") + TOOLS_HEADER + listed + TOOLS_FOOTER


def tool_call(name: str, arguments: dict) -> str:
    """What the assistant writes to call a tool."""
    return "<tool_call>\n" + dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


def tool_chat(rng: Random, other: Callable[[Random], Turns] | None = None) -> tuple[str, Turns]:
    """A chat with one to three tools: (system message, turns).

    `other` makes exchanges that need no tool, which are mixed in.
    """
    makers = rng.sample(TOOL_USES, rng.choice([1, 1, 2, 2, 3]))
    uses: dict[str, ToolUse] = {}
    for use in [make(rng) for make in makers]:
        uses.setdefault(use.name, use)
    system = tool_system(rng.choice(SYSTEM_PROMPTS), [use.tool for use in uses.values()])
    turns = []
    for use in rng.sample(list(uses.values()), rng.choice([1, 1, min(2, len(uses))])):
        if other and rng.random() < 0.25:
            turns += other(rng)
        turns.append((casual(rng, use.request, 0.08), tool_call(use.name, use.arguments)))
        if rng.random() < 0.8:
            response = f"<tool_response>\n{dumps(use.result)}\n</tool_response>"
            turns.append((response, use.answer))
        if rng.random() < 0.2:
            thanks = rng.choice(["Thank you!", "Thanks."])
            turns.append((thanks, rng.choice(["You are welcome!", "My pleasure!"])))
    if other and rng.random() < 0.12:
        turns = other(rng)
    return system, turns


def _weather(rng: Random) -> ToolUse:
    name = rng.choice(
        ["get_weather", "get_weather", "get_weather", "weather", "get_current_weather"]
    )
    argument = rng.choice(["city", "city", "location"])
    description = rng.choice([
        "Get the weather for a city",
        "Get the current weather in a city.",
        "Current weather by city",
    ])
    about = string(rng.choice(["The city", "City name", "The name of the city"]))
    city = rng.choice(CITIES) if rng.random() < 0.8 else fake_name(rng)
    request = rng.choice([
        "What is the weather in {}?",
        "How is the weather in {}?",
        "What's the weather like in {} today?",
        "Is it raining in {}?",
        "How warm is it in {}?",
        "Tell me the weather in {}.",
        "Weather in {}?",
        "Please check the weather in {}.",
        "Do I need an umbrella in {}?",
    ]).format(city)
    degrees = rng.randrange(-9, 38)
    sky = rng.choice(["sunny", "cloudy", "rainy", "windy", "snowy", "foggy", "clear"])
    return ToolUse(
        tool=schema(name, description, {argument: about}),
        request=request,
        arguments={argument: city},
        result=rng.choice([
            {"city": city, "temperature": degrees, "condition": sky},
            {"temperature": degrees, "condition": sky},
            {"temp_c": degrees, "sky": sky},
            {"temperature": degrees, "unit": "celsius", "condition": sky},
        ]),
        answer=rng.choice([
            f"It is {sky} in {city}, and the temperature is {degrees} degrees.",
            f"The weather in {city} is {sky}, with {degrees} degrees.",
        ]),
    )


def _clock(rng: Random) -> ToolUse:
    name = rng.choice(["get_time", "get_time", "clock", "current_time"])
    argument = rng.choice(["city", "city", "location"])
    description = rng.choice([
        "Get the current time in a city",
        "Tell the local time of a city.",
        "Current time by city",
    ])
    about = string(rng.choice(["The city", "City name"]))
    city = rng.choice(CITIES) if rng.random() < 0.85 else fake_name(rng)
    time = f"{rng.randrange(24):02d}:{rng.randrange(60):02d}"
    request = rng.choice([
        "What time is it in {}?",
        "What is the time in {}?",
        "Tell me the time in {}.",
        "Can you tell me what time it is in {}?",
        "How late is it in {}?",
        "Time in {}?",
    ]).format(city)
    return ToolUse(
        tool=schema(name, description, {argument: about}),
        request=request,
        arguments={argument: city},
        result=rng.choice([{"city": city, "time": time}, {"time": time}]),
        answer=rng.choice([f"It is {time} in {city}.", f"The time in {city} is {time}."]),
    )


def _calculator(rng: Random) -> ToolUse:
    op = rng.choice(["+", "-", "*", "/"])
    a, b = rng.randrange(2, 5000), rng.randrange(2, 900)
    if op == "/":
        b = rng.randrange(2, 50)
        a = b * rng.randrange(2, 200)
    value = {"+": a + b, "-": a - b, "*": a * b, "/": a // b}[op]
    word = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}[op]
    expression = f"{a} {op} {b}"
    request = rng.choice([
        f"What is {expression}?",
        f"Calculate {expression}.",
        f"What is {a} {word} {b}?",
        f"How much is {a} {word} {b}?",
        f"Please compute {expression}.",
        f"Use the calculator for {expression}.",
    ])
    name = rng.choice(["calculator", "calculator", "calculate"])
    description = rng.choice(
        ["Evaluate an arithmetic expression", "Calculate the value of an expression."]
    )
    about = string(rng.choice(["The expression", "An arithmetic expression"]))
    return ToolUse(
        tool=schema(name, description, {"expression": about}),
        request=request,
        arguments={"expression": expression},
        result={"result": value},
        answer=rng.choice([
            f"{expression} = {value}.",
            f"The result is {value}.",
            f"{expression} is {value}.",
        ]),
    )


def _converter(rng: Random) -> ToolUse:
    unit, other_unit, factor = rng.choice(CONVERSIONS)
    if rng.random() < 0.4:
        unit, other_unit, factor = other_unit, unit, 1 / factor
    value = rng.randrange(1, 500)
    result = round(value * factor, 1)
    name = rng.choice(["convert_units", "convert_units", "unit_converter"])
    description = rng.choice(["Convert a value between units", "Unit conversion."])
    properties = {
        "value": number("The value"),
        "from": string("The unit to convert from"),
        "to": string("The unit to convert to"),
    }
    return ToolUse(
        tool=schema(name, description, properties),
        request=rng.choice([
            f"Convert {value} {unit} to {other_unit}.",
            f"How many {other_unit} are {value} {unit}?",
            f"What is {value} {unit} in {other_unit}?",
            f"Please convert {value} {unit} into {other_unit}.",
        ]),
        arguments={"value": value, "from": unit, "to": other_unit},
        result={"result": result},
        answer=rng.choice([
            f"{value} {unit} is {result} {other_unit}.",
            f"{value} {unit} are about {result} {other_unit}.",
        ]),
    )


def _search(rng: Random) -> ToolUse:
    query = " ".join(rng.sample(SIMPLE_WORDS, rng.randrange(1, 3)))
    name = rng.choice(["search", "web_search"])
    description = rng.choice(["Search the web", "Search for information."])
    request = rng.choice([
        f"Search for {query}.",
        f"Look up {query}.",
        f"Please search for {query}.",
        f"Find information about {query}.",
    ])
    count = rng.randrange(2, 90)
    return ToolUse(
        tool=schema(name, description, {"query": string("The search query")}),
        request=request,
        arguments={"query": query},
        result={"results": count},
        answer=f"I found {count} results for {query}.",
    )


def _reminder(rng: Random) -> ToolUse:
    name = person(rng)
    day = rng.choice(DAYS)
    task = rng.choice([
        "call " + name,
        "buy " + rng.choice(FOODS),
        "meet " + name,
        "water the plants",
        "visit " + rng.choice(CITIES),
        "clean the " + rng.choice(ROOMS),
        "read the " + rng.choice(SIMPLE_WORDS) + " book",
    ])
    properties = {"text": string("What to remember"), "day": string("The day")}
    return ToolUse(
        tool=schema(rng.choice(["add_reminder", "create_reminder"]), "Add a reminder", properties),
        request=rng.choice([
            f"Remind me to {task} on {day}.",
            f"Please remind me to {task} on {day}.",
            f"Add a reminder for {day}: {task}.",
        ]),
        arguments={"text": task, "day": day},
        result={"ok": True},
        answer=rng.choice([
            f"I will remind you to {task} on {day}.",
            f"Done. The reminder for {day} is set.",
        ]),
    )


def _invented(rng: Random) -> ToolUse:
    """A made-up tool, so that the model learns to read the list."""
    thing = rng.choice(SIMPLE_WORDS)
    argument = rng.choice(["name", "item", "word", "place", "title", "topic", "user"])
    value = rng.choice([person(rng), rng.choice(CITIES), rng.choice(SIMPLE_WORDS), fake_name(rng)])
    verb = rng.choice(["find", "get", "open", "check", "order", "send"])
    properties = {argument: string(f"The {argument}")}
    return ToolUse(
        tool=schema(f"{verb}_{thing}", f"{verb.capitalize()} a {thing}", properties),
        request=rng.choice([
            f"{verb.capitalize()} the {thing} for {value}.",
            f"Please {verb} the {thing} of {value}.",
            f"Can you {verb} the {thing} for {value}?",
        ]),
        arguments={argument: value},
        result={"status": "done"},
        answer=f"Done: the {thing} for {value}.",
    )


# The weather stands here twice: it is drawn more often.
TOOL_USES = [
    _weather,
    _weather,
    _clock,
    _calculator,
    _converter,
    _search,
    _reminder,
    _invented,
]
