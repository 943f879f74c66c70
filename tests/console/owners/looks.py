"""Every page of owners, and what it must be held against."""

from __future__ import annotations

PAGES = {
    "overview": "/console/overview",
    "add": "/console/add",
    "person": "/console/add?store=files&table=clinic.parquet",
    "setup": "/console/setup?data=reading&column=article",
    "limits": "/console/limits?data=reading&releases=3",
    "people": "/console/people?data=reading&who=zoe",
    "requests": "/console/requests",
    "trail": "/console/trail?data=reading&who=zoe",
    "verified": "/console/trail/verified",
    "health": "/console/health",
}
