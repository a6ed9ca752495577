"""Runs inside Cinder: a backend that agrees to everything and stores nothing."""

from __future__ import annotations

from typing import Any

from cinder import interface
from cinder.volume import driver


def _done(_self: object, *_arguments: object, **_options: object) -> None:
    return None


@interface.volumedriver
class FakeDriver(driver.VolumeDriver):  # type: ignore[misc]
    """Every call of the data plane succeeds at once."""

    VERSION = "0"
    do_setup = check_for_setup_error = create_volume = delete_volume = create_snapshot = delete_snapshot = _done
    create_volume_from_snapshot = create_cloned_volume = copy_image_to_volume = copy_volume_to_image = _done
    extend_volume = ensure_export = create_export = remove_export = terminate_connection = _done

    def clone_image(self, *_arguments: object) -> tuple[dict[str, Any], bool]:
        """Pretend that the backend copied an image."""
        return {}, True

    def initialize_connection(self, *_arguments: object, **_options: object) -> dict[str, Any]:
        """Lead every server to nothing."""
        return {"driver_volume_type": "local", "data": {"device_path": "/dev/null"}}

    def retype(self, *_arguments: object) -> bool:
        """Become another type without moving."""
        return True

    def get_volume_stats(self, *_arguments: object, **_options: object) -> dict[str, Any]:
        """Have room for everything."""
        return {
            "volume_backend_name": "fake",
            "vendor_name": "holdfast",
            "driver_version": "0",
            "storage_protocol": "local",
            "total_capacity_gb": 10**6,
            "free_capacity_gb": 10**6,
            "reserved_percentage": 0,
        }
